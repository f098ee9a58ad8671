//! Waiting for the frontier, with paused time.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use futures::FutureExt;
use storage::fault::{FaultyStorage, Operation, Plan};
use storage::memory::Memory;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::*;

const FAR: Revision = Revision::MAX - 1;

struct Scene {
    frontier: Arc<Frontier>,
    store: Arc<FaultyStorage<Memory>>,
    chase: JoinHandle<()>,
}

impl Drop for Scene {
    fn drop(&mut self) {
        self.chase.abort();
    }
}

fn scene() -> Scene {
    let frontier = Arc::new(Frontier::default());
    let store = Arc::new(FaultyStorage::new(Arc::new(Memory::new()), Plan::none()));
    let chase = {
        let frontier = Arc::clone(&frontier);
        let store = Arc::clone(&store);
        tokio::spawn(async move { frontier.poll_progress(&*store).await })
    };
    Scene { frontier, store, chase }
}

impl Scene {
    fn asked(&self) -> u64 {
        self.store.calls(Operation::RequestProgress)
    }

    fn wait_for_known(&self, revision: Revision) -> JoinHandle<bool> {
        let frontier = Arc::clone(&self.frontier);
        tokio::spawn(async move { frontier.wait_for_existing(revision).await })
    }

    fn wait_for_named(&self, revision: Revision) -> JoinHandle<bool> {
        let frontier = Arc::clone(&self.frontier);
        tokio::spawn(async move { frontier.wait_for_requested(revision).await })
    }
}

/// Advances time and runs everything that is due.
async fn pass(milliseconds: u64) {
    sleep(Duration::from_millis(milliseconds)).await;
}

#[tokio::test(start_paused = true)]
async fn readers_wait_exactly_for_their_revision() {
    let scene = scene();
    let waiting = scene.wait_for_known(5);
    scene.frontier.publish(4);
    pass(1).await;
    assert!(!waiting.is_finished());
    scene.frontier.publish(5);
    assert!(waiting.await.unwrap());
    assert_eq!(scene.frontier.wait_for_existing(5).now_or_never(), Some(true));
    assert_eq!(scene.frontier.wait_for_requested(3).now_or_never(), Some(true));
}

#[tokio::test(start_paused = true)]
async fn a_reader_gives_up_after_three_seconds() {
    let scene = scene();
    let start = Instant::now();
    assert!(!scene.frontier.wait_for_requested(FAR).await);
    assert_eq!(start.elapsed(), WAIT_MAX);
    assert!(!scene.frontier.wait_for_existing(9).await);
    assert_eq!(start.elapsed(), WAIT_MAX * 2);
}

#[test]
fn frontier_never_decreases() {
    let frontier = Frontier::default();
    frontier.publish(7);
    frontier.publish(3);
    assert_eq!(frontier.load(), 7);
}

#[tokio::test(start_paused = true)]
async fn prompt_store_gets_no_progress_requests() {
    let scene = scene();
    for revision in 1..100 {
        let waiting = scene.wait_for_known(revision);
        pass(2).await;
        scene.frontier.publish(revision);
        assert!(waiting.await.unwrap());
    }
    pass(1000).await;
    assert_eq!(scene.asked(), 0);
}

#[tokio::test(start_paused = true)]
async fn progress_requests_repeat_while_readers_wait() {
    let scene = scene();
    for existing in [true, false] {
        let initial_requests = scene.asked();
        let waiting = if existing { scene.wait_for_known(5) } else { scene.wait_for_named(FAR) };
        let requests = || scene.asked() - initial_requests;
        pass(4).await;
        assert_eq!(requests(), 0);
        pass(7).await;
        assert_eq!(requests(), 1);
        pass(1000).await;
        assert!((10..=20).contains(&requests()), "{}", requests());
        waiting.abort();
        scene.frontier.publish(5);
        pass(100).await;
        let last = requests();
        pass(10_000).await;
        assert_eq!(requests(), last, "nobody waits any more");
    }
}

#[tokio::test(start_paused = true)]
async fn far_future_waits_do_not_delay_others() {
    let scene = scene();
    let far = scene.wait_for_named(FAR);
    pass(30).await;
    let initial_requests = scene.asked();
    let near = scene.wait_for_known(5);
    pass(12).await;
    assert_eq!(scene.asked(), initial_requests + 1);
    scene.frontier.publish(5);
    assert!(near.await.unwrap());
    assert!(!far.await.unwrap());
}

/// A store that rejects progress requests.
struct Mute(Memory);

#[async_trait::async_trait]
impl Storage for Mute {
    async fn get(&self, key: &str) -> Result<storage::Lookup, storage::Error> {
        self.0.get(key).await
    }
    async fn list(
        &self,
        prefix: &str,
        options: storage::ListOptions,
    ) -> Result<storage::Listing, storage::Error> {
        self.0.list(prefix, options).await
    }
    async fn count(&self, prefix: &str) -> Result<u64, storage::Error> {
        self.0.count(prefix).await
    }
    async fn put(
        &self,
        key: &str,
        value: bytes::Bytes,
        expected: Revision,
        ttl: Option<Duration>,
    ) -> Result<storage::PutResult, storage::Error> {
        self.0.put(key, value, expected, ttl).await
    }
    async fn delete(&self, key: &str, expected: Revision) -> Result<storage::DeleteResult, storage::Error> {
        self.0.delete(key, expected).await
    }
    async fn watch(
        &self,
        prefix: &str,
        options: storage::WatchOptions,
    ) -> Result<storage::WatchStream, storage::Error> {
        self.0.watch(prefix, options).await
    }
    async fn request_progress(&self) -> Result<(), storage::Error> {
        Err(storage::Error::Rejected("too old to be trusted".to_owned()))
    }
    async fn current_revision(&self) -> Result<Revision, storage::Error> {
        self.0.current_revision().await
    }
    async fn compact(&self, revision: Revision) -> Result<(), storage::Error> {
        self.0.compact(revision).await
    }
    fn compacted(&self) -> tokio::sync::watch::Receiver<Revision> {
        self.0.compacted()
    }
    async fn healthy(&self) -> Result<(), storage::Error> {
        self.0.healthy().await
    }
}

#[tokio::test(start_paused = true)]
async fn rejected_progress_ends_the_wait() {
    let frontier = Arc::new(Frontier::default());
    let chasing = Arc::clone(&frontier);
    let chase = tokio::spawn(async move { chasing.poll_progress(&Mute(Memory::new())).await });
    let start = Instant::now();
    assert!(!frontier.wait_for_existing(5).await);
    assert_eq!(start.elapsed(), PROGRESS_DELAY);
    // Waiting for a client's revision continues, because it may arrive.
    assert!(!frontier.wait_for_requested(5).await);
    assert_eq!(start.elapsed(), PROGRESS_DELAY + WAIT_MAX);
    chase.abort();
}
