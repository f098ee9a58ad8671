//! The connection between the system under test and its store: calls and responses are delayed, lost or
//! broken off during a storm. It also records the valid excuses for errors.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures::StreamExt;
use storage::fault::{FaultyStorage, Plan, Rates};
use storage::{
    DeleteResult, Error, ListOptions, Listing, Lookup, PutResult, Revision, Storage, WatchItem, WatchOptions,
    WatchStream,
};
use tokio::sync::watch;
use tokio::task::{Id, try_id};
use tokio::time::{Instant, sleep};

use super::history::History;
use super::journal::Journal;
use super::kinds::{KINDS, Kind};
use super::ledger::Ledger;
use super::random::Random;
use super::sabotage::{Bug, StoredEvents};

/// Fault rates of a storm, per mille.
#[derive(Debug, Clone, Copy)]
pub struct Storm {
    /// Calls that fail, before or after their execution.
    pub fails: u16,
    /// Late calls and responses.
    pub late: u64,
    /// Lost progress requests.
    pub lost: u64,
    /// Watch batches with a short delay.
    pub lags: u64,
    /// Watch batches with a delay so long that readers give up.
    pub stalls: u64,
    /// Watch items after which the watch breaks.
    pub breaks: u64,
}

impl Storm {
    /// No faults.
    pub const CALM: Storm = Storm { fails: 0, late: 0, lost: 0, lags: 0, stalls: 0, breaks: 0 };

    /// A random storm, from mild to heavy.
    pub fn random(random: &mut Random) -> Self {
        let rough = random.pick(&[0u64, 1, 1, 2, 4]);
        Storm {
            fails: 8 * rough as u16,
            late: 80 * rough,
            lost: 150 * rough,
            lags: 100 * rough,
            stalls: 2 * rough,
            breaks: 3 * rough,
        }
    }
}

/// The filling of one resource's cache, as observed from its lists.
#[derive(Debug, Clone, Copy, Default)]
struct Filling {
    /// True while a page is read or more pages follow.
    under_way: bool,
    done: Option<Instant>,
    revision: Revision,
}

/// The store as seen by the system and its clients.
pub struct Link {
    store: FaultyStorage<Ledger>,
    pub ledger: Arc<Ledger>,
    conditions: Arc<Conditions>,
    fillings: Mutex<HashMap<String, Filling>>,
    turnover: AtomicU64,
    reads: AtomicU64,
    bug: Option<Bug>,
    stored: Arc<StoredEvents>,
    pub driver: OnceLock<Id>,
}

/// State shared by the link and its streams.
struct Conditions {
    storm: Mutex<Storm>,
    random: Mutex<Random>,
    blackout_until: Mutex<Instant>,
    failures: AtomicU64,
    gaps: AtomicU64,
    gap_at: Mutex<Option<Instant>>,
    journal: Arc<Journal>,
}

impl Link {
    /// A link to an empty store.
    pub fn new(storm: Storm, mut random: Random, journal: Arc<Journal>, bug: Option<Bug>) -> Self {
        let ledger = Arc::new(Ledger::new());
        let rates = Rates {
            fail_before: storm.fails,
            fail_after: storm.fails / 2,
            delay: storm.late as u16,
            delay_max: Duration::from_millis(1500),
            ..Rates::default()
        };
        let store = FaultyStorage::new(Arc::clone(&ledger), Plan::seeded(random.next(), rates));
        let conditions = Conditions {
            storm: Mutex::new(storm),
            random: Mutex::new(random.fork()),
            blackout_until: Mutex::new(Instant::now()),
            failures: AtomicU64::new(0),
            gaps: AtomicU64::new(0),
            gap_at: Mutex::new(None),
            journal,
        };
        Link {
            store,
            ledger,
            conditions: Arc::new(conditions),
            fillings: Mutex::default(),
            turnover: AtomicU64::new(0),
            reads: AtomicU64::new(0),
            bug,
            stored: Arc::new(StoredEvents::new(bug, random)),
            driver: OnceLock::new(),
        }
    }

    pub fn calm(&self) {
        self.store.set_plan(Plan::none());
        *self.conditions.storm.lock().unwrap() = Storm::CALM;
        *self.conditions.blackout_until.lock().unwrap() = Instant::now();
    }

    /// Breaks all watches and rejects new ones for this time.
    pub fn blackout(&self, time: Duration) {
        self.conditions.journal.count("blackout");
        self.conditions.journal.note("link", &format!("blackout of {time:?}"));
        *self.conditions.blackout_until.lock().unwrap() = Instant::now() + time;
    }

    /// True if the caller is the caches' driver.
    fn is_for_caches(&self) -> bool {
        try_id().as_ref() == self.driver.get()
    }

    /// Number of injected failures of calls and streams.
    pub fn failures(&self) -> u64 {
        self.store.injected() + self.conditions.failures.load(Relaxed)
    }

    /// Number of gaps in the watch over everything.
    pub fn gaps(&self) -> u64 {
        self.conditions.gaps.load(Relaxed)
    }

    /// Number of reads of keys of cached resources, without those that fill the caches.
    pub fn reads(&self) -> u64 {
        self.reads.load(Relaxed)
    }

    /// Number of installs and retirements.
    pub fn turnover(&self) -> u64 {
        self.turnover.load(Relaxed)
    }

    /// Records an install or retirement; the state of the resource's cache is no longer valid.
    pub fn turn_over(&self, prefix: &str) {
        self.turnover.fetch_add(1, Relaxed);
        self.fillings.lock().unwrap().remove(prefix);
    }

    /// True if the cache of a kind may be unready: it has not been filled since the last gap, is being
    /// filled, or was a moment ago. Lists wait for each other, so any running list counts; resources that are
    /// not installed do not.
    pub fn may_be_unready(&self, of: &Kind) -> bool {
        let fillings = self.fillings.lock().unwrap();
        let gap = *self.conditions.gap_at.lock().unwrap();
        KINDS.iter().filter(|kind| kind.cached).any(|kind| {
            let Some(filling) = fillings.get(kind.prefix) else {
                return !kind.comes_and_goes || kind.prefix == of.prefix;
            };
            let Some(done) = filling.done else { return true };
            filling.under_way || gap >= Some(done) || done.elapsed() < Duration::from_millis(100)
        })
    }

    /// The revision of the list that last filled the cache of a resource: it has no older changes.
    pub fn filled_at(&self, prefix: &str) -> Revision {
        self.fillings.lock().unwrap().get(prefix).map_or(0, |filling| filling.revision)
    }

    fn count_read(&self, key: &str) {
        if KINDS.iter().any(|kind| kind.cached && key.starts_with(kind.prefix)) {
            self.reads.fetch_add(1, Relaxed);
        }
    }

    async fn list_to_fill(&self, prefix: &str, options: ListOptions) -> Result<Listing, Error> {
        let filling = |change: &dyn Fn(&mut Filling)| {
            change(self.fillings.lock().unwrap().entry(prefix.to_owned()).or_default());
        };
        filling(&|filling| filling.under_way = true);
        let first = options.start.is_none();
        let mut at = options.revision;
        let old =
            self.bug == Some(Bug::OldFill) && KINDS.iter().any(|k| k.comes_and_goes && k.prefix == prefix);
        if first && old {
            let newest = self.ledger.history(History::revision);
            at = (newest - 20).max(self.ledger.compacted_to() + 1).min(newest);
        }
        let mut listing = self.store.list(prefix, ListOptions { revision: at, ..options }).await;
        self.conditions.dawdle().await;
        if let Ok(listing) = &mut listing {
            if first && old {
                listing.revision = at;
            }
            let revision = if first { listing.revision } else { at };
            if !listing.has_more() {
                self.conditions.journal.note("link", &format!("fills {prefix} at {revision}"));
                filling(&|filling| {
                    filling.under_way = false;
                    filling.done = Some(Instant::now());
                    filling.revision = revision;
                });
            }
        }
        listing
    }
}

impl Conditions {
    fn chance(&self, rate: impl Fn(&Storm) -> u64) -> bool {
        let rate = rate(&self.storm.lock().unwrap());
        rate > 0 && self.random.lock().unwrap().chance(rate)
    }

    fn millis(&self, range: std::ops::Range<i64>) -> Duration {
        self.random.lock().unwrap().millis(range)
    }

    /// Delays a response randomly.
    async fn dawdle(&self) {
        if self.chance(|storm| storm.late) {
            self.journal.count("late answer");
            sleep(self.millis(1..900)).await;
        }
    }

    /// Delays a batch randomly.
    async fn lag(&self) {
        if self.chance(|storm| storm.stalls) {
            self.journal.count("watch stalled for seconds");
            sleep(self.millis(2000..7000)).await;
        } else if self.chance(|storm| storm.lags) {
            self.journal.count("watch delayed");
            sleep(self.millis(1..300)).await;
        }
    }

    fn is_dark(&self) -> bool {
        Instant::now() < *self.blackout_until.lock().unwrap()
    }

    /// Counts and returns an injected failure.
    fn fail(&self, why: &'static str) -> Error {
        self.failures.fetch_add(1, Relaxed);
        self.journal.count(why);
        self.journal.note("link", why);
        Error::Unavailable(why.to_owned())
    }

    /// Records an error that a watch receives.
    fn told(&self, error: &Error, for_caches: bool) {
        if for_caches && matches!(error, Error::Compacted { .. }) {
            self.gaps.fetch_add(1, Relaxed);
            *self.gap_at.lock().unwrap() = Some(Instant::now());
            self.journal.count("gap");
            self.journal.note("link", "gap");
        }
    }
}

/// Delivers a watch under the current conditions.
fn deliver(
    conditions: Arc<Conditions>,
    stored: Arc<StoredEvents>,
    for_caches: bool,
    mut items: WatchStream,
) -> WatchStream {
    let stream = async_stream::stream! {
        let mut begins = true;
        while let Some(item) = items.next().await {
            if begins {
                conditions.lag().await;
            }
            if conditions.is_dark() || conditions.chance(|storm| storm.breaks) {
                yield Err(conditions.fail("watch broken"));
                return;
            }
            match item {
                Ok(item) => {
                    begins = matches!(item, WatchItem::Progress(_));
                    for item in stored.tamper(item) {
                        yield Ok(item);
                    }
                }
                Err(error) => {
                    conditions.told(&error, for_caches);
                    yield Err(error);
                    return;
                }
            }
        }
    };
    stream.boxed()
}

#[async_trait]
impl Storage for Link {
    async fn get(&self, key: &str) -> Result<Lookup, Error> {
        self.count_read(key);
        let lookup = self.store.get(key).await;
        self.conditions.dawdle().await;
        lookup
    }

    async fn list(&self, prefix: &str, options: ListOptions) -> Result<Listing, Error> {
        if self.is_for_caches() {
            return self.list_to_fill(prefix, options).await;
        }
        self.count_read(prefix);
        let listing = self.store.list(prefix, options).await;
        self.conditions.dawdle().await;
        listing
    }

    async fn count(&self, prefix: &str) -> Result<u64, Error> {
        self.store.count(prefix).await
    }

    async fn put(
        &self,
        key: &str,
        value: Bytes,
        expected: Revision,
        ttl: Option<Duration>,
    ) -> Result<PutResult, Error> {
        let result = self.store.put(key, value, expected, ttl).await;
        self.conditions.dawdle().await;
        result
    }

    async fn delete(&self, key: &str, expected: Revision) -> Result<DeleteResult, Error> {
        let deleted = self.store.delete(key, expected).await;
        self.conditions.dawdle().await;
        deleted
    }

    async fn watch(&self, prefix: &str, options: WatchOptions) -> Result<WatchStream, Error> {
        if self.conditions.is_dark() {
            return Err(self.conditions.fail("watch refused"));
        }
        match self.store.watch(prefix, options).await {
            Ok(items) => {
                let conditions = Arc::clone(&self.conditions);
                let stored = Arc::clone(&self.stored);
                Ok(deliver(conditions, stored, self.is_for_caches(), items))
            }
            Err(error) => {
                self.conditions.told(&error, self.is_for_caches());
                Err(error)
            }
        }
    }

    async fn request_progress(&self) -> Result<(), Error> {
        if self.conditions.chance(|storm| storm.lost) {
            self.conditions.journal.count("request for progress lost");
            return Ok(());
        }
        self.store.request_progress().await
    }

    async fn current_revision(&self) -> Result<Revision, Error> {
        let revision = self.store.current_revision().await;
        self.conditions.dawdle().await;
        match self.bug {
            Some(Bug::OldReadIndex) => revision.map(|revision| (revision - 20).max(1)),
            _ => revision,
        }
    }

    async fn compact(&self, revision: Revision) -> Result<(), Error> {
        self.store.compact(revision).await
    }

    fn compacted(&self) -> watch::Receiver<Revision> {
        self.store.compacted()
    }

    async fn healthy(&self) -> Result<(), Error> {
        self.store.healthy().await
    }
}
