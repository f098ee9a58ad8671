//! Test environment: an etcd, servers that reach it through bad networks, a thousand watchers, and a few
//! writers and readers. Verifies that no client received anything wrong.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use e2e::{Etcd, Proxy, Server};
use tokio::sync::watch;
use tokio::task::{JoinSet, block_in_place};
use tokio::time::{sleep, timeout};

use super::history::{History, Recorder};
use super::link::{Address, Answer, Link};
use super::load::Load;
use super::objects::{NAMESPACES, Scope, WRITERS, namespace};
use super::watcher::{Style, Watcher};

const WATCHERS: usize = 1000;
/// Number of watchers that read nothing until the end.
const STALLED: usize = 20;
const WATCHERS_PER_LINK: usize = 90;
const READERS: usize = 2;
/// Timeout for everything that must happen: twice the time a server takes to detect a silently lost etcd.
const LIMIT: Duration = Duration::from_secs(80);
/// Polling interval.
const POLL: Duration = Duration::from_millis(100);
const WINDOW_BYTES: u32 = 1 << 20;
/// Small enough that a server soon buffers unread events.
const STALLED_WINDOW_BYTES: u32 = 16 << 10;
/// Maximum memory growth of a server. The events of one test are a few megabytes.
const GROWTH_MAX_BYTES: u64 = 64 << 20;

/// A server and its network to etcd.
pub(crate) struct Replica {
    pub(crate) server: Server,
    pub(crate) proxy: Proxy,
    /// A client of this server only.
    pub(crate) link: Link,
    memory_bytes: u64,
}

pub(crate) struct World {
    pub(crate) replicas: Vec<Replica>,
    pub(crate) etcd: Etcd,
    pub(crate) recorder: Recorder,
    pub(crate) load: Arc<Load>,
    watchers: Vec<Arc<Watcher>>,
    tally: watch::Receiver<u64>,
    reads: watch::Sender<bool>,
    stop: watch::Sender<bool>,
    clients: JoinSet<()>,
    following: JoinSet<()>,
}

impl World {
    /// Starts everything, and waits until every watcher has its state and writes succeed.
    pub(crate) async fn start(replicas: usize) -> Self {
        let etcd = block_in_place(Etcd::start);
        let mut started = Vec::new();
        for _ in 0..replicas {
            started.push(Replica::start(&etcd).await);
        }
        prepare(&started[0].link).await;
        let mut world = World {
            replicas: started,
            recorder: Recorder::start(etcd.url()),
            etcd,
            load: Arc::default(),
            watchers: Vec::new(),
            tally: watch::channel(0).1,
            reads: watch::Sender::new(false),
            stop: watch::Sender::new(false),
            clients: JoinSet::new(),
            following: JoinSet::new(),
        };
        world.start_load().await;
        world.start_watchers().await;
        world.writes(20).await;
        for replica in &mut world.replicas {
            replica.memory_bytes = replica.server.memory_bytes();
        }
        world
    }

    async fn addresses(&self) -> Vec<Address> {
        let mut addresses = Vec::new();
        for replica in &self.replicas {
            addresses.push(Address::of(&replica.server).await);
        }
        addresses
    }

    async fn start_load(&mut self) {
        let addresses = self.addresses().await;
        let link = |first| Arc::new(Link::new(addresses.clone(), first, WINDOW_BYTES));
        let writing: Vec<_> = (0..addresses.len()).map(link).collect();
        for writer in 0..WRITERS {
            let link = Arc::clone(&writing[usize::from(writer) % writing.len()]);
            self.clients.spawn(Arc::clone(&self.load).write(writer, link, self.stop.subscribe()));
        }
        for reader in 0..READERS {
            self.clients.spawn(Arc::clone(&self.load).read(link(reader), self.stop.subscribe()));
        }
    }

    async fn start_watchers(&mut self) {
        let addresses = self.addresses().await;
        let tally = watch::Sender::new(0);
        self.tally = tally.subscribe();
        let busy = watch::channel(true).1;
        let mut link = None;
        for number in 0..WATCHERS {
            let stalled = number < STALLED;
            if number.saturating_sub(STALLED) % WATCHERS_PER_LINK == 0 {
                let window = if stalled { STALLED_WINDOW_BYTES } else { WINDOW_BYTES };
                link = Some(Arc::new(Link::new(addresses.clone(), number / WATCHERS_PER_LINK, window)));
            }
            let link = Arc::clone(link.as_ref().unwrap());
            let scope = Scope::of_watcher(if stalled { number % 2 } else { number });
            // A watcher that reads nothing can only get its state by a list.
            let style = if stalled || number % 3 == 0 { Style::Listed } else { Style::Streamed };
            let reads = if stalled { self.reads.subscribe() } else { busy.clone() };
            let watcher = Arc::new(Watcher::new(scope, style, link, reads, tally.clone()));
            self.watchers.push(Arc::clone(&watcher));
            self.following.spawn(async move { watcher.follow().await });
        }
        self.wait_for_watchers(|watcher| watcher.has_state(), "its state").await;
    }

    /// Waits until every watcher satisfies `predicate`.
    async fn wait_for_watchers(&mut self, predicate: impl Fn(&Watcher) -> bool, condition: &str) {
        let mut missing: Vec<_> = self.watchers.iter().collect();
        let all = async {
            loop {
                missing.retain(|watcher| !predicate(watcher));
                if missing.is_empty() {
                    return;
                }
                self.tally.changed().await.unwrap();
            }
        };
        let late = timeout(LIMIT, all).await.is_err();
        while let Some(ended) = self.following.try_join_next() {
            ended.unwrap();
        }
        let first = missing.first().map(|watcher| (watcher.scope, watcher.last(), watcher.style));
        assert!(!late, "{} watchers do not have {condition}; one of them: {first:?}", missing.len());
    }

    /// Waits until this many more writes are acknowledged.
    pub(crate) async fn writes(&self, count: usize) {
        let mut acknowledged = self.load.acknowledged();
        let target = *acknowledged.borrow() + count;
        let reached = timeout(LIMIT, acknowledged.wait_for(|now| *now >= target)).await;
        let refusals = self.load.record().refusals.clone();
        assert!(reached.is_ok(), "{count} more writes are not acknowledged in {LIMIT:?}: {refusals:?}");
    }

    /// Waits until this many requests have failed.
    pub(crate) async fn refusals(&self, count: usize) {
        let refused = async {
            while self.load.record().refused() < count {
                sleep(POLL).await;
            }
        };
        assert!(timeout(LIMIT, refused).await.is_ok(), "requests are not refused");
    }

    /// Returns the number of ended watches.
    pub(crate) fn ends(&self) -> usize {
        self.watchers.iter().map(|watcher| watcher.notes().ends).sum()
    }

    /// Waits until a watch has ended.
    pub(crate) async fn some_end(&self) {
        let ended = async {
            while self.ends() == 0 {
                sleep(POLL).await;
            }
        };
        assert!(timeout(LIMIT, ended).await.is_ok(), "no watch has ended");
    }

    /// Waits until every server is ready.
    pub(crate) async fn ready(&self) {
        for replica in &self.replicas {
            let ready = async {
                while !replica
                    .link
                    .send("GET", "/readyz", "")
                    .await
                    .is_ok_and(|response| response.code == 200)
                {
                    sleep(POLL).await;
                }
            };
            assert!(timeout(LIMIT, ready).await.is_ok(), "a server does not become ready");
        }
    }

    /// Ends the test. Verifies that everything recovered without intervention, all clients received correct
    /// data, and the servers' memory has not grown.
    pub(crate) async fn close(mut self) {
        self.ready().await;
        self.writes(usize::from(WRITERS) * 5).await;
        self.stop.send_replace(true);
        while let Some(ended) = self.clients.join_next().await {
            ended.unwrap();
        }
        for replica in &mut self.replicas {
            let now = replica.server.memory_bytes();
            let before = replica.memory_bytes;
            assert!(now < before + GROWTH_MAX_BYTES, "a server has grown from {before} to {now} bytes");
        }
        let fence = self.recorder.fence().await;
        let history = self.recorder.history();
        self.load.record().check(&history);
        if self.replicas.len() == 1 {
            // Its process never stopped, so every request must have a response.
            assert_eq!(self.load.record().broken, 0, "requests were not answered");
        }
        // First without the stalled watchers, which must not delay the others; then they read too.
        self.settle(&history, fence).await;
        self.reads.send_replace(true);
        self.settle(&history, fence).await;
        for watcher in &self.watchers {
            check(watcher, &history, fence);
        }
    }

    /// Waits until every reading watcher has received its last event.
    async fn settle(&mut self, history: &History, fence: i64) {
        let last: BTreeMap<_, _> = self
            .watchers
            .iter()
            .map(|watcher| {
                let events = history.events(watcher.scope, 0, fence);
                (Arc::as_ptr(watcher), events.last().map_or(0, |event| event.revision))
            })
            .collect();
        let is_complete = |watcher: &Watcher| {
            !*watcher.reads.borrow() || watcher.last() >= last[&std::ptr::from_ref(watcher)]
        };
        self.wait_for_watchers(is_complete, "the last event").await;
    }
}

/// Fails unless the watcher received exactly the true history.
fn check(watcher: &Watcher, history: &History, fence: i64) {
    let scope = watcher.scope;
    let style = watcher.style;
    let notes = watcher.notes();
    assert_eq!(notes.wrongs, [""; 0], "{scope:?} {style:?}");
    for (number, segment) in notes.segments.iter().enumerate() {
        assert_eq!(segment.state, history.state(scope, segment.start), "{scope:?} at {}", segment.start);
        let expected = history.events(scope, segment.start, fence);
        let received: Vec<_> =
            segment.events.iter().copied().filter(|event| event.revision <= fence).collect();
        // The next state covers the events after the end of a segment.
        let expected = if number + 1 < notes.segments.len() {
            &expected[..received.len().min(expected.len())]
        } else {
            &expected[..]
        };
        let differs = received.iter().zip(expected).position(|(received, expected)| received != expected);
        let differs = differs.unwrap_or(received.len().min(expected.len()));
        assert!(
            received == expected,
            "{scope:?} {style:?} from {}: told {} of {}; different from {differs} on: {:?} for {:?}",
            segment.start,
            received.len(),
            expected.len(),
            received.get(differs),
            expected.get(differs),
        );
    }
}

impl Replica {
    async fn start(etcd: &Etcd) -> Self {
        let proxy = Proxy::start(etcd.port()).await;
        let server = block_in_place(|| Server::start_on(&proxy.url()));
        let link = Link::new(vec![Address::of(&server).await], 0, WINDOW_BYTES);
        Replica { server, proxy, link, memory_bytes: 0 }
    }

    /// Sends a request to this server and returns the response.
    pub(crate) async fn send(&self, method: &str, path: &str) -> Answer {
        self.link.send(method, path, "").await.expect("a server that answers")
    }
}

/// Creates the objects that a pod needs.
async fn prepare(link: &Link) {
    for number in 0..NAMESPACES {
        let name = namespace(number);
        let namespaced = format!("/api/v1/namespaces/{name}/serviceaccounts");
        for (path, kind, name) in
            [("/api/v1/namespaces", "Namespace", &*name), (&*namespaced, "ServiceAccount", "default")]
        {
            let body = format!(r#"{{"apiVersion":"v1","kind":"{kind}","metadata":{{"name":"{name}"}}}}"#);
            let response = link.send("POST", path, &body).await.unwrap();
            assert_eq!(response.code, 201, "{response:?}");
        }
    }
}
