//! Writers and watchers that run during fault injection. Afterwards no acknowledged write may be lost, and
//! each watch must have seen each write once, in order.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use storage::{Error, EventKind, ListOptions, PutResult, Revision, Storage, WatchItem, WatchOptions};
use storage_etcd3::Etcd;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;

const PREFIX: &str = "/registry/workload/";
const LAST: &str = "/registry/workload/~last";
const PATIENCE: Duration = Duration::from_secs(60);

type Writes = BTreeMap<String, Revision>;
type Events = Vec<(String, Revision)>;

/// Running writers and watchers.
pub(crate) struct Workload {
    store: Arc<Etcd>,
    stop: Arc<AtomicBool>,
    acknowledged: watch::Sender<u64>,
    writers: Vec<JoinHandle<Writes>>,
    watchers: Vec<JoinHandle<Events>>,
}

impl Workload {
    /// Starts `writers` that create keys as fast as they can, and `watchers` of all of them.
    pub(crate) async fn start(store: Arc<Etcd>, writers: usize, watchers: usize) -> Self {
        let start = store.current_revision().await.unwrap() + 1;
        let stop = Arc::new(AtomicBool::new(false));
        let acknowledged = watch::Sender::new(0);
        let watchers = (0..watchers).map(|_| tokio::spawn(watcher(store.clone(), start))).collect();
        let writer = |n| tokio::spawn(writer(store.clone(), n, stop.clone(), acknowledged.clone()));
        let writers = (0..writers).map(writer).collect();
        Self { store, stop, acknowledged, writers, watchers }
    }

    /// Waits until `more` further writes were acknowledged: the store works.
    pub(crate) async fn progress(&self, more: u64) {
        let mut acknowledged = self.acknowledged.subscribe();
        let goal = *acknowledged.borrow() + more;
        let reached = timeout(PATIENCE, acknowledged.wait_for(|n| *n >= goal)).await;
        assert!(reached.is_ok(), "writes go on");
    }

    /// Stops the writers and checks all results. Returns the number of acknowledged writes.
    pub(crate) async fn finish(self) -> usize {
        self.stop.store(true, Ordering::Relaxed);
        let mut acknowledged = Writes::new();
        for writer in self.writers {
            acknowledged.extend(timeout(PATIENCE, writer).await.expect("the writer stops").unwrap());
        }
        let last = create(&self.store, LAST).await;
        assert!(last.is_some(), "the store serves again");
        let stored = stored_writes(&self.store).await;
        for (key, revision) in &acknowledged {
            assert_eq!(stored.get(key), Some(revision), "{key} was acknowledged at {revision}");
        }
        let mut history: Events = stored.into_iter().collect();
        history.sort_by_key(|(_, revision)| *revision);
        for watcher in self.watchers {
            let delivered = timeout(PATIENCE, watcher).await.expect("the watch reaches the end").unwrap();
            if let Some(n) =
                (0..delivered.len().max(history.len())).find(|n| delivered.get(*n) != history.get(*n))
            {
                panic!("item {n}: the watch saw {:?}, the store has {:?}", delivered.get(n), history.get(n));
            }
        }
        acknowledged.len()
    }
}

/// Creates a key; returns the revision if the write was acknowledged.
async fn create(store: &Etcd, key: &str) -> Option<Revision> {
    match store.put(key, Bytes::from_static(b"x"), 0, None).await {
        Ok(PutResult::Done(revision)) => Some(revision),
        Ok(PutResult::Stale { current, .. }) => {
            panic!("{key} was never written before, but holds {current:?}")
        }
        Err(Error::Unavailable(_)) => None,
        Err(error) => panic!("{key}: {error}"),
    }
}

async fn writer(
    store: Arc<Etcd>,
    n: usize,
    stop: Arc<AtomicBool>,
    acknowledged: watch::Sender<u64>,
) -> Writes {
    let mut writes = Writes::new();
    for i in 0.. {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let key = format!("{PREFIX}{n}/{i:06}");
        if let Some(revision) = create(&store, &key).await {
            writes.insert(key, revision);
            acknowledged.send_modify(|count| *count += 1);
        }
    }
    writes
}

/// All events from `start` to the last key.
async fn watcher(store: Arc<Etcd>, start: Revision) -> Events {
    let options = WatchOptions { start, progress: true, ..WatchOptions::default() };
    let mut watch = store.watch(PREFIX, options).await.expect("the watch starts");
    let mut events = Events::new();
    let mut covered = start - 1;
    while let Some(item) = watch.next().await {
        match item.expect("the watch goes on") {
            WatchItem::Event(event) => {
                assert_eq!(event.kind, EventKind::Create);
                let revision = event.kv.mod_revision;
                assert!(revision > covered, "an event at {revision} after {covered} was covered");
                covered = revision;
                let is_last = event.kv.key == LAST;
                events.push((event.kv.key, revision));
                if is_last {
                    break;
                }
            }
            WatchItem::Progress(revision) => {
                assert!(revision >= covered, "progress at {revision} after {covered} was covered");
                covered = revision;
            }
        }
    }
    events
}

async fn stored_writes(store: &Etcd) -> Writes {
    let listing = store.list(PREFIX, ListOptions::default()).await.unwrap();
    listing.kvs.into_iter().map(|kv| (kv.key, kv.mod_revision)).collect()
}
