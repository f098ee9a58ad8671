//! Memory limit of the process (`--memory-limit`) and load shedding when memory is short.
//!
//! Memory use is the sum of two numbers: the memory of the process, which a [`Meter`] reads periodically, and
//! the reservations of active requests. Reservations cover the time between two readings, in which a hundred
//! lists can start. Memory that a request has already allocated may count twice, which errs on the safe side.
//!
//! A reservation excludes other requests, so it must not be cheap to get. A request gets it after
//! authorization. It grows with the received body and ends with the seats of the request.
//!
//! If requests in flight hold the missing memory, a request waits for it. It is rejected if
//! the rest of the process needs the memory, if too many requests wait, if the wait is over, or if its client
//! has disconnected.
//!
//! The most dispensable requests are shed first. A full list can be retried. A deletion frees memory. A small
//! update replaces an object of similar size and may be a node heartbeat. Requests that are exempt from flow
//! control are shed one step later, but not in place of others: an administrator's full list is still a full
//! list. Probes and metrics are never shed.

mod body;
mod claim;
mod reservation;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod wait_tests;
mod waiters;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use std::time::Duration;

use http::header::{ACCEPT, CONTENT_LENGTH};
use http::request::Parts;
use tokio::time::{Instant, sleep};

use apimachinery::request_context::RequestContext;
use component_base::metrics::{Counter, Family, Gauge, MetricsRegistry, Page, Stability};
use component_base::weakened::{WeakenedDecisions, WeakenedKind};
use endpoints::cpu_pool::Overloaded;
use endpoints::routing::dispatch::{BODY_BYTES_MAX, Dispatch, Extent};
use endpoints::routing::path::LongQuery;

use claim::{Claim, Purpose};
pub(crate) use reservation::Reservation;
use reservation::ReservedBytes;
use waiters::WaitQueue;

/// Interval between two readings of the meter.
const METER_INTERVAL: Duration = Duration::from_millis(50);
/// Maximum wait for the start of a request. A rejection then costs its client nothing but a retry. A received body
/// would have to be sent again, so it waits longer.
const MEMORY_START_WAIT_MAX: Duration = Duration::from_secs(5);
/// Memory of a full list while it is sent: pieces of the response, and old object versions that it
/// references.
const LIST_BYTES: u64 = 2 << 20;
/// Memory of an unstreamed list per byte of its stored objects: about one and a half times as much for JSON
/// and the same again for YAML, each in a vector that grows by doubling.
const UNSTREAMED_LIST_FACTOR: u64 = 8;
/// Memory of other requests in addition to their bodies.
const REQUEST_BYTES: u64 = 64 << 10;
/// Head of a request in bytes that [`REQUEST_BYTES`] covers.
const HEAD_BYTES: u64 = 8 << 10;
/// Memory of a request per further byte of its head: the input, the parsed headers and decoded copies.
const HEAD_FACTOR: u64 = 4;
/// Maximum body size of a small update.
const SMALL_UPDATE_BYTES_MAX: usize = 4 << 10;

const LIMIT: Family<Gauge, 0> = Family::gauge(
    Stability::Internal,
    "mainstay_memory_limit_bytes",
    "Limit of the memory that the process may use, in bytes.",
    [],
);
const IN_USE: Family<Gauge, 0> = Family::gauge(
    Stability::Internal,
    "mainstay_memory_used_bytes",
    "Memory that the process uses, in bytes.",
    [],
);
const RESERVED: Family<Gauge, 0> = Family::gauge(
    Stability::Internal,
    "mainstay_memory_reserved_bytes",
    "Memory reserved for requests in flight, in bytes.",
    [],
);
const WAITING: Family<Gauge, 0> = Family::gauge(
    Stability::Internal,
    "mainstay_memory_waiting_requests",
    "Requests that wait until other requests release memory.",
    [],
);
const REJECTED: Family<Counter, 1> = Family::counter(
    Stability::Internal,
    "mainstay_memory_rejected_requests_total",
    "Requests rejected because too little memory was left.",
    ["rank"],
);

/// Reads the memory use of the process.
pub trait Meter: Send + Sync {
    /// Returns bytes; `None` if unknown.
    fn bytes(&self) -> Option<u64>;
}

/// Priority of a request for load shedding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SheddingRank {
    /// Lists or watches all objects of a resource, paginated or not.
    Bulk,
    /// Reads or writes one object.
    Object,
    /// Frees memory, or is essential for the cluster.
    Vital,
}

impl SheddingRank {
    /// Percentage of the limit that may be used after a request of this rank was admitted.
    fn percent(self) -> u64 {
        match self {
            SheddingRank::Bulk => 80,
            SheddingRank::Object => 90,
            SheddingRank::Vital => 97,
        }
    }

    /// Next higher rank, if any.
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

/// Memory demand of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Demand {
    pub rank: SheddingRank,
    /// Estimated memory in bytes, without the body.
    pub bytes: u64,
    /// Memory in bytes that the request retains before it gets the reservation.
    pub retained_bytes: u64,
}

impl Demand {
    /// Estimates the demand of a request from its head; `None` for a request that is never shed. A request
    /// that is `exempt` from flow control ranks one step higher.
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
            "list" if is_buffered(parts) => (SheddingRank::Bulk, buffered_bytes(dispatch.extent(info))),
            "list" if context.query.first("limit").is_none() => (SheddingRank::Bulk, LIST_BYTES),
            "list" | "watch" | "deletecollection" => (SheddingRank::Bulk, REQUEST_BYTES),
            "delete" => (SheddingRank::Vital, REQUEST_BYTES),
            "update" | "patch" if body_bytes(parts) <= SMALL_UPDATE_BYTES_MAX => {
                (SheddingRank::Vital, REQUEST_BYTES)
            }
            _ => (SheddingRank::Object, REQUEST_BYTES),
        };
        let excess = head_bytes(parts).saturating_sub(HEAD_BYTES).saturating_mul(HEAD_FACTOR);
        let bytes = bytes.saturating_add(excess);
        let retained_bytes = HEAD_BYTES.saturating_add(excess);
        Some(Demand { rank: if exempt { rank.above() } else { rank }, bytes, retained_bytes })
    }
}

/// Length of the target and the headers.
pub(crate) fn head_bytes(parts: &Parts) -> u64 {
    let target = parts.uri.path_and_query().map_or(0, |target| target.as_str().len());
    let target = target.saturating_add(parts.extensions.get::<LongQuery>().map_or(0, |query| query.0.len()));
    endpoints::header::total_bytes(&parts.headers).saturating_add(target as u64)
}

/// True if a list may need to be complete before it is sent, as for YAML.
fn is_buffered(parts: &Parts) -> bool {
    endpoints::header::texts(&parts.headers, ACCEPT)
        .any(|accepted| accepted.to_ascii_lowercase().contains("yaml"))
}

/// Memory of such a list, allocated at once. The size of a page is unknown, so the whole list counts.
fn buffered_bytes(extent: Option<Extent>) -> u64 {
    let stored = extent.map_or(0, |extent| extent.bytes as u64);
    stored.saturating_mul(UNSTREAMED_LIST_FACTOR).saturating_add(LIST_BYTES)
}

/// Returns the announced length of a body. Without one, the maximum.
fn body_bytes(parts: &Parts) -> usize {
    let length = parts.headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    length.and_then(|length| length.parse().ok()).unwrap_or(BODY_BYTES_MAX)
}

/// Memory budget of all requests. Clones share it. [`MemoryBudget::default`] has no limit.
#[derive(Clone, Default)]
pub struct MemoryBudget(Option<Arc<Shared>>);

struct Shared {
    limit: u64,
    meter: Arc<dyn Meter>,
    /// Memory of the process at the last reading.
    resident: AtomicU64,
    reserved: AtomicU64,
    /// Number of reserved claims to process a body.
    processing: AtomicUsize,
    rejected: [AtomicU64; 3],
    waiting: WaitQueue,
}

impl Shared {
    /// Memory in bytes that may be used after a request of this rank was admitted.
    fn limit_of(&self, rank: SheddingRank) -> u64 {
        (self.limit / 100).saturating_mul(rank.percent())
    }

    /// Adds a claim to the reserved memory if it fits.
    fn add(&self, claim: Claim) -> bool {
        if claim.purpose != Purpose::Process {
            return self.add_within_rank(claim);
        }
        let is_added = self.add_within_rank(claim);
        self.processing.fetch_add(usize::from(is_added), SeqCst);
        is_added || self.add_as_only_processing(claim)
    }

    /// Adds the claim to process a body if no other body is processed. Received bodies then return their
    /// memory one by one, even if they fill it. They are part of the resident memory, so reservations do not
    /// count.
    fn add_as_only_processing(&self, claim: Claim) -> bool {
        let is_possible = self.resident.load(Relaxed).saturating_add(claim.bytes) <= self.limit
            && self.processing.compare_exchange(0, 1, SeqCst, SeqCst).is_ok();
        if is_possible {
            self.reserved.fetch_add(claim.bytes, SeqCst);
        }
        is_possible
    }

    fn add_within_rank(&self, claim: Claim) -> bool {
        let available = self.limit_of(claim.limit_rank()).saturating_sub(self.resident.load(Relaxed));
        let update = self.reserved.fetch_update(SeqCst, SeqCst, |reserved| {
            let after = reserved.saturating_add(claim.bytes);
            (after <= available).then_some(after)
        });
        update.is_ok()
    }

    /// True if a claim could fit after the end of the requests in flight.
    fn may_fit_later(&self, claim: Claim) -> bool {
        let rest = self.resident.load(Relaxed).saturating_sub(self.reserved.load(SeqCst));
        rest.saturating_add(claim.bytes) <= self.limit_of(claim.limit_rank())
    }

    /// Ends the reservation of these bytes, which include this number of claims to process a body.
    fn release(&self, bytes: u64, processing: usize) {
        self.reserved.fetch_sub(bytes, SeqCst);
        self.processing.fetch_sub(processing, SeqCst);
        self.waiting.grant(|claim| self.add(claim));
    }

    fn count_rejection(&self, rank: SheddingRank) {
        self.rejected[rank as usize].fetch_add(1, Relaxed);
    }

    fn write(&self, page: &mut Page<'_>) {
        page.family(&LIMIT).add([], self.limit);
        page.family(&IN_USE).add([], self.resident.load(Relaxed));
        page.family(&RESERVED).add([], self.reserved.load(Relaxed));
        page.family(&WAITING).add([], self.waiting.len());
        let mut samples = page.family(&REJECTED);
        let ranks = [SheddingRank::Bulk, SheddingRank::Object, SheddingRank::Vital];
        for (rank, count) in ranks.iter().zip(&self.rejected) {
            samples.add([rank.name()], count.load(Relaxed));
        }
    }
}

impl std::fmt::Debug for MemoryBudget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("MemoryBudget").field(&self.0.as_ref().map(|shared| shared.limit)).finish()
    }
}

impl MemoryBudget {
    /// Creates a budget with a limit in bytes.
    pub fn new(limit: u64, meter: Arc<dyn Meter>) -> Self {
        let resident = AtomicU64::new(meter.bytes().unwrap_or_default());
        let reserved = AtomicU64::new(0);
        let rejected = Default::default();
        let waiting = WaitQueue::new(limit);
        let processing = AtomicUsize::new(0);
        let shared = Shared { limit, meter, resident, reserved, processing, rejected, waiting };
        MemoryBudget(Some(Arc::new(shared)))
    }

    /// Limit in bytes, if any.
    pub fn limit(&self) -> Option<u64> {
        self.0.as_ref().map(|shared| shared.limit)
    }

    /// Returns the limit, the memory of the process at the last reading, the reserved memory (all in bytes),
    /// and the number of rejected requests. `None` without a limit.
    pub fn usage(&self) -> Option<[u64; 4]> {
        let Shared { limit, resident, reserved, rejected, .. } = &**self.0.as_ref()?;
        let rejected = rejected.iter().map(|count| count.load(Relaxed)).sum();
        Some([*limit, resident.load(Relaxed), reserved.load(Relaxed), rejected])
    }

    /// Registers the metrics of the budget, if it has a limit.
    pub fn register(&self, registry: &MetricsRegistry) {
        let Some(shared) = self.0.clone() else { return };
        registry.collect(&[&LIMIT, &IN_USE, &RESERVED, &WAITING, &REJECTED], move |page| shared.write(page));
    }

    /// Reads the meter periodically; never returns. If it cannot be read, the limit is checked against the last
    /// reading, which is recorded in `weakened`.
    pub async fn poll_meter(&self, weakened: &WeakenedDecisions) {
        let Some(shared) = &self.0 else { return std::future::pending().await };
        loop {
            match shared.meter.bytes() {
                Some(bytes) => {
                    shared.resident.store(bytes, Relaxed);
                    shared.waiting.grant(|claim| shared.add(claim));
                }
                None => {
                    let kind = WeakenedKind::UnknownMemoryUse;
                    weakened.record(kind, "--memory-limit", &"the memory use of the process cannot be read");
                }
            }
            sleep(METER_INTERVAL).await;
        }
    }

    /// Reserves memory for a request of a user until the reservation is dropped. Waits for memory that requests
    /// in flight hold: at most [`MEMORY_START_WAIT_MAX`], later for its body until `start_by`.
    ///
    /// # Errors
    /// The request is rejected.
    pub(crate) async fn reserve(
        &self,
        demand: Option<Demand>,
        user: &str,
        start_by: Instant,
    ) -> Result<Reservation, Overloaded> {
        let (Some(shared), Some(demand)) = (&self.0, demand) else {
            return Ok(Reservation::default());
        };
        let reserved = ReservedBytes::new(Arc::clone(shared), demand.rank, user, start_by);
        reserved.grow(Purpose::Start, demand.bytes, demand.retained_bytes).await?;
        Ok(reserved.into())
    }
}
