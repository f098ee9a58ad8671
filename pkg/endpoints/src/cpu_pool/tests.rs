//! Tests of the CPU pool, with tasks that the test controls.
#![allow(clippy::unwrap_used)]

use component_base::metrics::MetricsRegistry;
use std::panic::AssertUnwindSafe;
use std::sync::mpsc;

use futures::FutureExt;
use tokio::sync::oneshot;

use super::queue::BOUNDS;
use super::*;

fn pool(threads: usize) -> CpuPool {
    CpuPool::start(NonZeroUsize::new(threads).unwrap(), &Handle::current(), || {}).unwrap()
}

/// Request for a start within the default wait.
fn start(user: &str) -> StartRequest<'_> {
    StartRequest { user, retained_bytes: 0, start_by: latest_start(None) }
}

/// Task that blocks its thread until a message is sent.
fn busy() -> (mpsc::Sender<()>, impl Future<Output = ()>) {
    let (go, gate) = mpsc::channel();
    (go, async move { gate.recv().unwrap_or(()) })
}

/// Spawns a future and polls it until it is pending.
async fn begin<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> tokio::task::JoinHandle<T> {
    let task = tokio::spawn(work);
    tokio::task::yield_now().await;
    task
}

#[tokio::test]
async fn runtime_runs_while_pool_is_busy() {
    let pool = pool(2);
    let (gates, tasks): (Vec<_>, Vec<_>) = (0..3)
        .map(|_| {
            let (gate, work) = busy();
            let pool = pool.clone();
            (gate, tokio::spawn(async move { pool.run(start("user"), work).await }))
        })
        .unzip();
    tokio::task::yield_now().await;
    assert_eq!(pool.current(), (3, 0));
    assert_eq!(tokio::spawn(async { 7 }).await.unwrap(), 7);
    drop(gates);
    for task in tasks {
        assert_eq!(task.await.unwrap(), Ok(()));
    }
    assert_eq!(pool.current(), (0, 0));
}

/// Starts as many tasks as a pool of one thread allows, each until a message is sent.
fn fill_pool(pool: &CpuPool, user: &str) -> (Vec<mpsc::Sender<()>>, Vec<Waiting>) {
    let begin = |_| {
        let (gate, work) = busy();
        (gate, waiting(pool, user, work))
    };
    (0..STARTED_PER_THREAD).map(begin).unzip()
}

type Waiting = futures::future::BoxFuture<'static, Result<(), Overloaded>>;

/// Request that waits in the queue.
fn waiting(pool: &CpuPool, user: &str, work: impl Future<Output = ()> + Send + 'static) -> Waiting {
    let pool = pool.clone();
    let user = user.to_owned();
    let mut waiting: Waiting = Box::pin(async move { pool.run(start(&user), work).await });
    assert!(waiting.as_mut().now_or_never().is_none());
    waiting
}

/// Number of requests of one user that can wait.
const OF_USER_MAX: usize = BOUNDS.items_max / 2;

#[tokio::test]
async fn full_queue_rejects_until_waiter_leaves() {
    let pool = pool(1);
    let (gates, running) = fill_pool(&pool, "first");
    let users = (0..BOUNDS.items_max).map(|number| format!("user{}", number / OF_USER_MAX));
    let mut queue: Vec<_> = users.map(|user| waiting(&pool, &user, async {})).collect();
    assert_eq!(pool.check_room("last", 0), Err(Overloaded));
    assert_eq!(pool.run(start("last"), async {}).await, Err(Overloaded));
    queue.pop();
    assert_eq!(pool.check_room("last", 0), Ok(()));
    let last = waiting(&pool, "last", async {});
    drop(queue);
    drop(gates);
    assert!(futures::future::join_all(running).await.iter().all(Result::is_ok));
    assert_eq!(last.await, Ok(()));
    let registry = MetricsRegistry::default();
    pool.register_metrics(&registry);
    let page = registry.to_string();
    for line in [
        "mainstay_heavy_requests{state=\"running\"} 0\n",
        "mainstay_heavy_requests{state=\"waiting\"} 0\n",
        "mainstay_heavy_requests_refused_total 2\n",
        "mainstay_heavy_wait_seconds_count 5\n",
    ] {
        assert!(page.contains(line), "no {line} in {page}");
    }
}

#[tokio::test]
async fn retained_bytes_are_bounded() {
    let pool = pool(1);
    let (_gates, _running) = fill_pool(&pool, "greedy");
    let half = StartRequest { retained_bytes: BOUNDS.bytes_max / 2, ..start("greedy") };
    let mut waits = Box::pin(pool.run(half, async {}));
    assert!((&mut waits).now_or_never().is_none());
    assert_eq!(pool.check_room("greedy", 1), Err(Overloaded));
    assert_eq!(pool.check_room("other", BOUNDS.bytes_max / 2), Ok(()));
    drop(waits);
    assert_eq!(pool.check_room("greedy", 1), Ok(()));
}

#[tokio::test(start_paused = true)]
async fn wait_for_start_is_bounded() {
    let pool = pool(1);
    let (gates, _running) = fill_pool(&pool, "user");
    let since = Instant::now();
    assert_eq!(pool.run(start("user"), async {}).await, Err(Overloaded));
    assert_eq!(since.elapsed(), START_WAIT_MAX);
    assert_eq!(pool.current(), (STARTED_PER_THREAD, 0));
    drop(gates);
}

#[tokio::test(start_paused = true)]
async fn start_leaves_half_of_time() {
    let seconds = Duration::from_secs;
    let now = Instant::now();
    let check = |remaining: Option<u64>, expected: u64| {
        let deadline = remaining.map(|remaining| (now + seconds(remaining)).into_std());
        assert_eq!(latest_start(deadline), now + seconds(expected), "{remaining:?}");
    };
    check(None, 30);
    check(Some(10), 5);
    check(Some(3600), 30);
}

#[test]
fn user_with_fewest_tasks_is_next() {
    let queue = Arc::new(Queue::new(2));
    let mut running: Vec<_> = (0..2).map(|_| queue.enqueue("greedy", 0).unwrap()).collect();
    let mut greedy = queue.enqueue("greedy", 0).unwrap();
    let mut other = queue.enqueue("other", 0).unwrap();
    running.pop();
    assert!(other.wait_for_start().now_or_never().is_some());
    assert!(greedy.wait_for_start().now_or_never().is_none());
    drop(other);
    assert!(greedy.wait_for_start().now_or_never().is_some());
    assert_eq!(queue.current(), (2, 0));
}

#[tokio::test]
async fn pending_task_releases_thread() {
    let pool = pool(1);
    let (reply, replied) = oneshot::channel::<()>();
    let waits = waiting(&pool, "user", async move { replied.await.unwrap() });
    assert_eq!(pool.run(start("user"), async { 7 }).await, Ok(7));
    reply.send(()).unwrap();
    assert_eq!(waits.await, Ok(()));
}

#[tokio::test]
async fn abandoned_task_completes() {
    let pool = pool(1);
    let (done, was_done) = oneshot::channel();
    let (gate, work) = busy();
    let abandoned = begin({
        let pool = pool.clone();
        async move {
            pool.run(start("user"), async move {
                work.await;
                tokio::spawn(tokio::task::yield_now()).await.unwrap();
                done.send(()).unwrap();
            })
            .await
        }
    })
    .await;
    abandoned.abort();
    drop(gate);
    was_done.await.unwrap();
}

#[tokio::test]
async fn panic_is_propagated_without_losing_thread() {
    let pool = pool(1);
    let panics = AssertUnwindSafe(pool.run(start("user"), async { panic!("as it should") })).catch_unwind();
    let outcome: Result<Result<(), Overloaded>, _> = panics.await;
    assert_eq!(outcome.unwrap_err().downcast_ref(), Some(&"as it should"));
    assert_eq!(pool.run(start("user"), async { 7 }).await, Ok(7));
}
