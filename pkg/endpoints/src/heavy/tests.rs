//! Claims about the pool, with work that goes on when a test says so.
#![allow(clippy::unwrap_used)]

use std::sync::mpsc;

use super::*;

fn pool(threads: usize) -> HeavyPool {
    HeavyPool::start(NonZeroUsize::new(threads).unwrap(), &Handle::current(), || {}).unwrap()
}

/// Work that keeps its thread busy until something is sent.
fn busy() -> (mpsc::Sender<()>, impl Future<Output = ()>) {
    let (go, gate) = mpsc::channel();
    (go, async move { gate.recv().unwrap_or(()) })
}

/// Begins a future as a task, and lets it come as far as it can.
async fn begin<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> tokio::task::JoinHandle<T> {
    let task = tokio::spawn(work);
    tokio::task::yield_now().await;
    task
}

#[tokio::test]
async fn the_runtime_goes_on_while_every_thread_is_busy() {
    let pool = pool(2);
    let (gates, tasks): (Vec<_>, Vec<_>) = (0..3)
        .map(|_| {
            let ((gate, work), pool) = (busy(), pool.clone());
            (gate, tokio::spawn(async move { pool.run(work).await }))
        })
        .unzip();
    tokio::task::yield_now().await;
    assert_eq!(pool.current(), (2, 1));
    assert_eq!(tokio::spawn(async { 7 }).await.unwrap(), 7);
    drop(gates);
    for task in tasks {
        assert_eq!(task.await.unwrap(), Ok(()));
    }
    assert_eq!(pool.current(), (0, 0));
}

#[tokio::test]
async fn a_full_queue_refuses_and_whoever_gives_up_makes_room() {
    let pool = pool(1);
    let (gate, work) = busy();
    let first = begin({
        let pool = pool.clone();
        async move { pool.run(work).await }
    })
    .await;
    let mut waiting: Vec<_> = (0..WAITING_MAX).map(|_| Box::pin(pool.run(async {}))).collect();
    for one in &mut waiting {
        assert!(one.as_mut().now_or_never().is_none());
    }
    assert_eq!(pool.run(async {}).await, Err(Full));
    waiting.pop();
    let mut last = Box::pin(pool.run(async {}));
    assert!(last.as_mut().now_or_never().is_none(), "it waits");
    drop(waiting);
    drop(gate);
    assert_eq!((first.await.unwrap(), last.await), (Ok(()), Ok(())));
    let mut page = String::new();
    pool.write(&mut page);
    for line in [
        "mainstay_heavy_requests{state=\"running\"} 0\n",
        "mainstay_heavy_requests{state=\"waiting\"} 0\n",
        "mainstay_heavy_requests_refused_total 1\n",
        "mainstay_heavy_wait_seconds_count 2\n",
    ] {
        assert!(page.contains(line), "no {line} in {page}");
    }
}

#[tokio::test]
async fn work_goes_on_when_nobody_waits_for_it_and_may_wait_for_the_runtime() {
    let pool = pool(1);
    let (done, was_done) = oneshot::channel();
    let (gate, work) = busy();
    let abandoned = begin({
        let pool = pool.clone();
        async move {
            pool.run(async move {
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
async fn a_panic_is_passed_on_and_costs_no_thread() {
    let pool = pool(1);
    let panics = AssertUnwindSafe(pool.run(async { panic!("as it should") })).catch_unwind();
    let outcome: Result<Result<(), Full>, _> = panics.await;
    assert_eq!(outcome.unwrap_err().downcast_ref(), Some(&"as it should"));
    assert_eq!(pool.run(async { 7 }).await, Ok(7));
}
