//! Tests of the CPU pool, with tasks that the test controls.
#![allow(clippy::unwrap_used)]

use component_base::metrics::MetricsRegistry;
use std::panic::AssertUnwindSafe;
use std::sync::mpsc;

use futures::FutureExt;
use tokio::sync::oneshot;

use super::queue::{WAITING_MAX, WAITING_OF_USER_MAX};
use super::*;

fn pool(threads: usize) -> CpuPool {
    CpuPool::start(NonZeroUsize::new(threads).unwrap(), &Handle::current(), || {}).unwrap()
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
            (gate, tokio::spawn(async move { pool.run("user", work).await }))
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

type Waiting = futures::future::BoxFuture<'static, Result<(), Full>>;

/// Request that waits in the queue.
fn waiting(pool: &CpuPool, user: &str, work: impl Future<Output = ()> + Send + 'static) -> Waiting {
    let pool = pool.clone();
    let user = user.to_owned();
    let mut waiting: Waiting = Box::pin(async move { pool.run(&user, work).await });
    assert!(waiting.as_mut().now_or_never().is_none());
    waiting
}

#[tokio::test]
async fn full_queue_rejects_until_waiter_leaves() {
    let pool = pool(1);
    let (gates, running) = fill_pool(&pool, "first");
    let users = (0..WAITING_MAX).map(|number| format!("user{}", number / WAITING_OF_USER_MAX));
    let mut queue: Vec<_> = users.map(|user| waiting(&pool, &user, async {})).collect();
    assert_eq!(pool.run("last", async {}).await, Err(Full));
    queue.pop();
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
        "mainstay_heavy_requests_refused_total 1\n",
        "mainstay_heavy_wait_seconds_count 5\n",
    ] {
        assert!(page.contains(line), "no {line} in {page}");
    }
}

#[tokio::test]
async fn queue_share_per_user_is_limited() {
    let pool = pool(1);
    let (_gates, _running) = fill_pool(&pool, "greedy");
    let _queue: Vec<_> = (0..WAITING_OF_USER_MAX).map(|_| waiting(&pool, "greedy", async {})).collect();
    assert_eq!(pool.run("greedy", async {}).await, Err(Full));
    let _other = waiting(&pool, "other", async {});
}

#[test]
fn user_with_fewest_tasks_is_next() {
    let queue = Arc::new(Queue::new(2));
    let mut running: Vec<_> = (0..2).map(|_| queue.enqueue("greedy").unwrap()).collect();
    let mut greedy = queue.enqueue("greedy").unwrap();
    let mut other = queue.enqueue("other").unwrap();
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
    assert_eq!(pool.run("user", async { 7 }).await, Ok(7));
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
            pool.run("user", async move {
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
    let panics = AssertUnwindSafe(pool.run("user", async { panic!("as it should") })).catch_unwind();
    let outcome: Result<Result<(), Full>, _> = panics.await;
    assert_eq!(outcome.unwrap_err().downcast_ref(), Some(&"as it should"));
    assert_eq!(pool.run("user", async { 7 }).await, Ok(7));
}
