//! What the process may take of the machine's memory (`--memory-limit`), and who is turned away when that
//! is not enough for everybody.
//!
//! Two numbers say how much is taken: what the process has, which a [`Meter`] reads now and then, and what
//! the requests under way may still take on top, which they reserve before they begin. The second number
//! bridges the time between two readings, in which a hundred lists can begin. What a request has taken
//! already may count twice; that errs on the side of living.
//!
//! A reservation keeps others out, so it must not be cheap to have one: it is made for a request that is
//! authorized and has its seat, grows with what of the body has come, and ends with the seat.
//!
//! Who is turned away first is who is best spared: whoever lists everything can come again, while a
//! deletion makes room, and a small update, which takes the place of what was there, may be the heartbeat
//! of a node. Requests that flow control never limits are turned away a step later than others, but not in
//! the place of those: an administrator's list of everything is a list of everything. Probes and metrics
//! are always answered.

mod body;
#[cfg(test)]
mod tests;

use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use http::header::{ACCEPT, CONTENT_LENGTH};
use http::request::Parts;
use tokio::time::sleep;

use apimachinery::request_context::RequestContext;
use endpoints::routing::dispatch::{BODY_BYTES_MAX, Dispatch, Extent};

use crate::metrics::Collector;

/// Between two readings of the meter.
const READ_EVERY: Duration = Duration::from_millis(50);
/// What a list of everything takes while it is on its way: pieces of the answer, and objects of the past
/// that it holds on to.
const LIST_BYTES: u64 = 2 << 20;
/// What a list that is made whole takes for each byte of its objects as they are stored: about one and a half times as
/// much as JSON and as much again as YAML, each in a vector that grows by doubling.
const WHOLE_PER_BYTE: u64 = 8;
/// What other requests take besides their bodies.
const REQUEST_BYTES: u64 = 64 << 10;
/// The body of a small update, at most.
const SMALL_BYTES: usize = 4 << 10;

/// Reads how much memory the process has.
pub trait Meter: Send + Sync {
    /// Bytes; `None` where that cannot be known.
    fn bytes(&self) -> Option<u64>;
}

/// How well a request can be spared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SheddingRank {
    /// It lists or watches everything of something, page by page or not.
    Bulk,
    /// It reads an object or writes one.
    Object,
    /// It frees memory, or a cluster falls apart without it.
    Vital,
}

impl SheddingRank {
    /// How much of the limit, in percent, may be taken after a request of this rank was let in.
    fn percent(self) -> u64 {
        match self {
            SheddingRank::Bulk => 80,
            SheddingRank::Object => 90,
            SheddingRank::Vital => 97,
        }
    }

    /// The next higher one, if there is one.
    fn above(self) -> Self {
        match self {
            SheddingRank::Bulk => SheddingRank::Object,
            SheddingRank::Object | SheddingRank::Vital => SheddingRank::Vital,
        }
    }

    fn name(self) -> &'static str {
        match self {
            SheddingRank::Bulk => "bulk",
            SheddingRank::Object => "object",
            SheddingRank::Vital => "vital",
        }
    }
}

/// What a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Demand {
    /// How well it can be spared.
    pub rank: SheddingRank,
    /// What it may take besides its body, in bytes.
    pub bytes: u64,
}

impl Demand {
    /// What a request asks for by its head; `None` if it is answered in any case. One that is `exempt` from flow control
    /// ranks a step higher.
    pub(crate) fn of(
        parts: &Parts,
        context: &RequestContext,
        exempt: bool,
        dispatch: &dyn Dispatch,
    ) -> Option<Self> {
        let info = &context.info;
        if !info.is_resource {
            return None;
        }
        let (rank, bytes) = match info.verb.as_str() {
            "list" if is_made_whole(parts) => (SheddingRank::Bulk, whole_bytes(dispatch.extent(info))),
            "list" if context.query.first("limit").is_none() => (SheddingRank::Bulk, LIST_BYTES),
            "list" | "watch" | "deletecollection" => (SheddingRank::Bulk, REQUEST_BYTES),
            "delete" => (SheddingRank::Vital, REQUEST_BYTES),
            "update" | "patch" if body_bytes(parts) <= SMALL_BYTES => (SheddingRank::Vital, REQUEST_BYTES),
            _ => (SheddingRank::Object, REQUEST_BYTES),
        };
        Some(Demand { rank: if exempt { rank.above() } else { rank }, bytes })
    }
}

/// Whether a list may have to be complete before any of it can be sent: as YAML.
fn is_made_whole(parts: &Parts) -> bool {
    endpoints::header::texts(&parts.headers, ACCEPT)
        .any(|accepted| accepted.to_ascii_lowercase().contains("yaml"))
}

/// What such a list takes, in memory all at once. A page of it is a part that nobody knows yet.
fn whole_bytes(extent: Option<Extent>) -> u64 {
    let stored = extent.map_or(0, |extent| extent.bytes as u64);
    stored.saturating_mul(WHOLE_PER_BYTE).saturating_add(LIST_BYTES)
}

/// How long a body says that it is; one that does not say may be as long as any.
fn body_bytes(parts: &Parts) -> usize {
    let length = parts.headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    length.and_then(|length| length.parse().ok()).unwrap_or(BODY_BYTES_MAX)
}

/// Who has what. Cloning shares it. [`Ledger::default`] has no limit.
#[derive(Clone, Default)]
pub struct MemoryBudget(Option<Arc<Shared>>);

struct Shared {
    limit: u64,
    meter: Arc<dyn Meter>,
    /// What the process had when it was last read.
    taken: AtomicU64,
    reserved: AtomicU64,
    refused: [AtomicU64; 3],
}

impl std::fmt::Debug for MemoryBudget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Ledger").field(&self.0.as_ref().map(|shared| shared.limit)).finish()
    }
}

impl MemoryBudget {
    /// A ledger of so many bytes.
    pub fn new(limit: u64, meter: Arc<dyn Meter>) -> Self {
        let taken = AtomicU64::new(meter.bytes().unwrap_or_default());
        let (reserved, refused) = (AtomicU64::new(0), Default::default());
        MemoryBudget(Some(Arc::new(Shared { limit, meter, taken, reserved, refused })))
    }

    /// The limit in bytes, if there is one.
    pub fn limit(&self) -> Option<u64> {
        self.0.as_ref().map(|shared| shared.limit)
    }

    /// The limit, what the process had when it was last read, what requests have reserved on top, all in bytes, and how
    /// many requests were refused; `None` without a limit.
    pub fn figures(&self) -> Option<[u64; 4]> {
        let Shared { limit, taken, reserved, refused, .. } = &**self.0.as_ref()?;
        let refused = refused.iter().map(|count| count.load(Relaxed)).sum();
        Some([*limit, taken.load(Relaxed), reserved.load(Relaxed), refused])
    }

    /// Reads the meter, for ever.
    pub async fn keep_reading(&self) {
        let Some(shared) = &self.0 else { return std::future::pending().await };
        loop {
            if let Some(bytes) = shared.meter.bytes() {
                shared.taken.store(bytes, Relaxed);
            }
            sleep(READ_EVERY).await;
        }
    }

    /// Room for a request, until it is dropped; `None` if there is none for its like.
    pub(crate) fn reserve(&self, demand: Option<Demand>) -> Option<Reservation> {
        let (Some(shared), Some(Demand { rank, bytes })) = (&self.0, demand) else {
            return Some(Reservation(None));
        };
        let room = Room { shared: Arc::clone(shared), rank, bytes: AtomicU64::new(0) };
        room.grow(bytes).then(|| Reservation(Some(Arc::new(room))))
    }
}

impl Collector for MemoryBudget {
    fn collect(&self, out: &mut String) {
        let Some(shared) = &self.0 else { return };
        let gauges = [
            ("limit", "What the process may take of the machine's memory, in bytes.", shared.limit),
            ("taken", "What it has, in bytes.", shared.taken.load(Relaxed)),
            ("reserved", "What requests under way may take on top, in bytes.", shared.reserved.load(Relaxed)),
        ];
        for (name, help, value) in gauges {
            let name = format!("mainstay_memory_{name}_bytes");
            let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} gauge\n{name} {value}");
        }
        let name = "mainstay_memory_refused_requests_total";
        let _ = writeln!(out, "# HELP {name} Requests that there was no memory for.\n# TYPE {name} counter");
        for (rank, count) in
            [SheddingRank::Bulk, SheddingRank::Object, SheddingRank::Vital].iter().zip(&shared.refused)
        {
            let _ = writeln!(out, "{name}{{rank=\"{}\"}} {}", rank.name(), count.load(Relaxed));
        }
    }
}

/// Room for a request, given back when dropped. By default it is none.
#[derive(Default)]
pub(crate) struct Reservation(Option<Arc<Room>>);

impl Reservation {
    /// Whether there is nothing to be given back.
    pub(crate) fn is_none(&self) -> bool {
        self.0.is_none()
    }
}

struct Room {
    shared: Arc<Shared>,
    rank: SheddingRank,
    bytes: AtomicU64,
}

impl Room {
    /// Takes so many bytes more, or none and counts that.
    fn grow(&self, bytes: u64) -> bool {
        let Shared { limit, taken, reserved, refused, .. } = &*self.shared;
        let most = (limit / 100).saturating_mul(self.rank.percent());
        let room = most.saturating_sub(taken.load(Relaxed));
        let fits = reserved.fetch_update(Relaxed, Relaxed, |reserved| {
            let after = reserved.saturating_add(bytes);
            (after <= room).then_some(after)
        });
        match fits {
            Ok(_) => self.bytes.fetch_add(bytes, Relaxed),
            Err(_) => refused[self.rank as usize].fetch_add(1, Relaxed),
        };
        fits.is_ok()
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.shared.reserved.fetch_sub(*self.bytes.get_mut(), Relaxed);
    }
}
