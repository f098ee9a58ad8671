//! Active requests, the most recent slow, failed or rejected ones, and counters for the history.
//!
//! A request costs an entry in a slab behind one of a few locks, a copy of its user name, and an observation in a histogram.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use apimachinery::request_context::RequestContext;
use component_base::clock::Clock;
use component_base::metrics::{Histogram, Metric};
use endpoints::routing::dispatch::Progress;
use http::StatusCode;
use jsontree::{Value, json};
use slab::Slab;
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::history::{BOUNDS, Change, Durations, History, INTERVAL, Point};
use super::{ROWS_MAX, text};
use crate::metrics::SLOW;
use crate::process;

/// Number of locks over which requests are distributed.
const SHARDS: usize = 8;

/// Age in seconds up to which completed requests are shown.
const RECENT_SECONDS: i64 = 600;
/// Period in seconds of the current latencies.
const LATENCY_SECONDS: i64 = 60;

/// Maximum length of a user name in the console, in bytes.
const USER_BYTES_MAX: usize = 256;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Stage {
    Authentication,
    /// Waiting for a seat.
    Queue,
    Authorization,
    /// In the handler.
    Work,
    /// Sending the response.
    Response,
}

/// Names of the stages in the console.
const STAGES: [&str; 5] = ["authentication", "queue", "authorization", "work", "answer"];

/// Active and recent requests of a server.
pub(crate) struct Requests {
    shards: [Mutex<Slab<Arc<Entry>>>; SHARDS],
    started: AtomicUsize,
    /// Durations of requests that are not long-running.
    durations: Histogram,
    slow: CompletedRequests,
    /// Server failures: codes of 500 and higher.
    failed: CompletedRequests,
    /// Requests with code 429.
    rejected: CompletedRequests,
    history: History,
    clock: Arc<dyn Clock>,
}

/// The most recent completed requests of one kind, newest first, and their number since the start.
#[derive(Default)]
struct CompletedRequests {
    rows: Mutex<VecDeque<CompletedRequest>>,
    count: AtomicU64,
}

impl CompletedRequests {
    fn add(&self, request: CompletedRequest) {
        self.count.fetch_add(1, Relaxed);
        let mut rows = lock(&self.rows);
        rows.push_front(request);
        rows.truncate(ROWS_MAX);
    }

    /// Returns the rows that ended after a time in seconds since 1970.
    fn after(&self, time: i64) -> Vec<Value> {
        lock(&self.rows).iter().filter(|row| row.ended_at > time).map(CompletedRequest::row).collect()
    }
}

/// Active request.
struct Entry {
    context: Arc<RequestContext>,
    received: Instant,
    long_running: bool,
    stage: AtomicU8,
    user: OnceLock<Box<str>>,
    sent_bytes: AtomicU64,
    progress: OnceLock<Progress>,
}

/// Completed request.
struct CompletedRequest {
    entry: Arc<Entry>,
    /// End time in seconds since 1970.
    ended_at: i64,
    duration: Duration,
    code: u16,
}

/// Entry of an active request, removed when dropped.
pub(crate) struct RequestTracker {
    requests: Arc<Requests>,
    entry: Arc<Entry>,
    shard: usize,
    key: usize,
    code: Option<StatusCode>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Requests {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Arc<Self> {
        Arc::new(Requests {
            shards: Default::default(),
            started: AtomicUsize::new(0),
            durations: Histogram::new(BOUNDS),
            slow: CompletedRequests::default(),
            failed: CompletedRequests::default(),
            rejected: CompletedRequests::default(),
            history: History::default(),
            clock,
        })
    }

    /// Records points of the history until dropped.
    pub(crate) async fn record_history(&self) {
        let mut ticks = interval(INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            self.history.record(self.point());
        }
    }

    /// Returns the present counters.
    fn point(&self) -> Point {
        let in_flight =
            self.shards.iter().map(|shard| lock(shard).iter().filter(|(_, entry)| !entry.is_watch()).count());
        Point {
            at: self.clock.now().seconds,
            requests: self.started_count(),
            cpu_seconds: process::cpu_seconds_so_far().unwrap_or_default(),
            resident_bytes: process::resident_bytes().unwrap_or_default(),
            in_flight: in_flight.sum(),
            failed: self.failed.count.load(Relaxed),
            rejected: self.rejected.count.load(Relaxed),
            durations: Durations::new(&self.durations.distribution()),
        }
    }

    /// Returns the last ten minutes as series.
    pub(super) fn history(&self) -> Value {
        self.history.document()
    }

    /// Returns latencies of the last minute, and failures and rejections of the last ten minutes.
    pub(super) fn summary(&self) -> Value {
        let now = self.point();
        let Change { p50, p99, .. } = self.history.change(&now, LATENCY_SECONDS);
        let Change { failed, rejected, .. } = self.history.change(&now, RECENT_SECONDS);
        json!({ "p50": p50, "p99": p99, "failed": failed, "rejected": rejected })
    }

    /// Returns the time in seconds since 1970 after which completed requests are shown.
    fn recent(&self) -> i64 {
        self.clock.now().seconds.saturating_sub(RECENT_SECONDS)
    }

    /// Number of requests since the start.
    pub(crate) fn started_count(&self) -> usize {
        self.started.load(Relaxed)
    }

    /// Adds a request that was `received` at this time.
    pub(crate) fn enter(
        self: &Arc<Self>,
        context: &Arc<RequestContext>,
        received: Instant,
        long_running: bool,
    ) -> RequestTracker {
        let entry = Arc::new(Entry {
            context: Arc::clone(context),
            received,
            long_running,
            stage: AtomicU8::new(Stage::Authentication as u8),
            user: OnceLock::new(),
            sent_bytes: AtomicU64::new(0),
            progress: OnceLock::new(),
        });
        let shard = self.started.fetch_add(1, Relaxed) % SHARDS;
        let key = self.shards.get(shard).map_or(0, |shard| lock(shard).insert(Arc::clone(&entry)));
        RequestTracker { requests: Arc::clone(self), entry, shard, key, code: None }
    }

    fn all(&self) -> Vec<Arc<Entry>> {
        self.shards
            .iter()
            .flat_map(|shard| lock(shard).iter().map(|(_, entry)| Arc::clone(entry)).collect::<Vec<_>>())
            .collect()
    }

    /// Returns the active requests except watches, oldest first, and the recent slow ones, newest first.
    pub(super) fn active(&self) -> Value {
        let now = Instant::now();
        let mut all = self.all();
        let watches = all.iter().filter(|entry| entry.is_watch()).count();
        all.retain(|entry| !entry.is_watch());
        all.sort_by_key(|entry| (entry.long_running, entry.received));
        let total = all.len();
        all.truncate(ROWS_MAX);
        let rows: Vec<Value> =
            all.iter().map(|entry| entry.row(now.duration_since(entry.received))).collect();
        let slow = self.slow.after(self.recent());
        json!({ "total": total, "watches": watches, "underWay": rows, "slow": slow })
    }

    /// Returns the watches, those with the largest lag first.
    pub(super) fn watchers(&self) -> Value {
        let now = Instant::now();
        let lag = |entry: Arc<Entry>| (entry.progress.get().map(Progress::lag).unwrap_or_default(), entry);
        let mut all: Vec<_> = self.all().into_iter().filter(|entry| entry.is_watch()).map(lag).collect();
        let total = all.len();
        let behind = all.iter().filter(|(lag, _)| lag.changes > 0).count();
        all.sort_by(|(one, entry), (other, than)| {
            other.changes.cmp(&one.changes).then(entry.received.cmp(&than.received))
        });
        all.truncate(ROWS_MAX);
        let row = |(lag, entry): &(endpoints::routing::dispatch::Lag, Arc<Entry>)| {
            let mut row = entry.row(now.duration_since(entry.received));
            row["behind"] = lag.changes.into();
            row["behindSeconds"] = seconds(lag.age.unwrap_or_default());
            row["cached"] = entry.progress.get().is_some().into();
            row
        };
        let rows: Vec<Value> = all.iter().map(row).collect();
        json!({ "total": total, "behind": behind, "rows": rows })
    }

    /// Returns the server failures and the rejections of the last ten minutes, newest first.
    pub(super) fn failures(&self) -> Value {
        let recent = self.recent();
        json!({ "rows": self.failed.after(recent), "rejected": self.rejected.after(recent) })
    }
}

impl Entry {
    fn is_watch(&self) -> bool {
        self.context.info.verb == "watch"
    }

    fn row(&self, age: Duration) -> Value {
        let RequestContext { info, user_agent, audit_id, .. } = &*self.context;
        let client = self.context.source_addresses().next().map(|address| address.to_string());
        let stage = STAGES.get(usize::from(self.stage.load(Relaxed))).copied().unwrap_or_default();
        json!({
            "verb": text(&info.verb),
            "path": text(&info.path),
            "user": text(self.user.get().map_or("", |user| user)),
            "userAgent": text(user_agent),
            "client": client,
            "auditID": text(audit_id.truncated()),
            "stage": stage,
            "seconds": seconds(age),
            "sentBytes": self.sent_bytes.load(Relaxed),
        })
    }
}

impl CompletedRequest {
    fn row(&self) -> Value {
        let mut row = self.entry.row(self.duration);
        row["code"] = self.code.into();
        row["at"] = self.ended_at.into();
        row
    }
}

fn seconds(time: Duration) -> Value {
    // Microseconds are precise enough.
    let micros = u32::try_from(time.as_micros()).map_or_else(|_| time.as_secs_f64(), |n| f64::from(n) / 1e6);
    micros.into()
}

impl RequestTracker {
    pub(crate) fn set_stage(&self, stage: Stage) {
        self.entry.stage.store(stage as u8, Relaxed);
    }

    pub(crate) fn set_user(&self, user: &str) {
        let shown = user.get(..user.floor_char_boundary(USER_BYTES_MAX)).unwrap_or_default();
        let _ = self.entry.user.set(shown.into());
    }

    /// Sets the response code, and for a watch its progress.
    pub(crate) fn set_response(&mut self, code: StatusCode, progress: Option<Progress>) {
        self.set_stage(Stage::Response);
        self.code = Some(code);
        if let Some(progress) = progress {
            let _ = self.entry.progress.set(progress);
        }
    }

    /// Counts sent bytes.
    pub(crate) fn count_sent(&self, bytes: usize) {
        self.entry.sent_bytes.fetch_add(bytes as u64, Relaxed);
    }
}

impl Drop for RequestTracker {
    fn drop(&mut self) {
        if let Some(shard) = self.requests.shards.get(self.shard) {
            lock(shard).try_remove(self.key);
        }
        let Some(code) = self.code.map(|code| code.as_u16()) else { return };
        let requests = &self.requests;
        let duration = self.entry.received.elapsed();
        if !self.entry.long_running {
            requests.durations.observe_duration(duration);
        }
        let slow = duration >= SLOW && !self.entry.long_running;
        let lists =
            [(slow, &requests.slow), (code >= 500, &requests.failed), (code == 429, &requests.rejected)];
        for (_, list) in lists.into_iter().filter(|(wanted, _)| *wanted) {
            let ended_at = requests.clock.now().seconds;
            list.add(CompletedRequest { entry: Arc::clone(&self.entry), ended_at, duration, code });
        }
    }
}
