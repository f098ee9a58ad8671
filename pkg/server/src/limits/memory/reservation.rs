//! Memory reservation of a request, which grows while its body arrives.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use endpoints::cpu_pool::Overloaded;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use super::waiters::WaitingClaim;
use super::{Claim, MEMORY_START_WAIT_MAX, Purpose, SMALL_UPDATE_BYTES_MAX, Shared, SheddingRank};

/// Memory per byte of a body and of the stored object while a request is handled: the tree, the object, and
/// the response. A malicious body needs more; decoders have limits of their own for that.
const WORK_PER_BYTE: u64 = 15;

/// Memory reservation, released when dropped. The default is empty.
#[derive(Default)]
pub(crate) struct Reservation(pub(super) Option<Arc<ReservedBytes>>);

impl From<ReservedBytes> for Reservation {
    fn from(reserved: ReservedBytes) -> Self {
        Reservation(Some(Arc::new(reserved)))
    }
}

impl Reservation {
    /// True for an empty reservation.
    pub(crate) fn is_none(&self) -> bool {
        self.0.is_none()
    }

    /// Reserves the memory to process a body and a stored object.
    ///
    /// # Errors
    /// The request is rejected.
    pub(crate) async fn reserve_processing(&self, object_bytes: u64) -> Result<(), Overloaded> {
        match &self.0 {
            Some(reserved) => reserved.grow(Purpose::Process, work_bytes(object_bytes), 0).await,
            None => Ok(()),
        }
    }

    /// Returns a guard for the client's connection. When it is dropped, a wait for memory ends, so that a request
    /// without a client does not keep its place.
    pub(crate) fn wait_guard(&self) -> WaitGuard {
        WaitGuard(self.0.clone())
    }
}

/// Ends the waits of a request when it is dropped.
pub(crate) struct WaitGuard(Option<Arc<ReservedBytes>>);

impl Drop for WaitGuard {
    fn drop(&mut self) {
        if let Some(reserved) = &self.0 {
            // The notification is kept for a later wait. No wait follows that one, because the request is rejected.
            reserved.abandoned.notify_one();
        }
    }
}

/// Memory to process an object of this size.
pub(super) fn work_bytes(object_bytes: u64) -> u64 {
    object_bytes.saturating_mul(WORK_PER_BYTE)
}

/// Addition to a reservation.
pub(super) struct Growth {
    pub(super) purpose: Purpose,
    pub(super) bytes: u64,
}

/// Reserved bytes of one request, shared by its reservation and its body.
pub(super) struct ReservedBytes {
    shared: Arc<Shared>,
    rank: SheddingRank,
    user: Arc<str>,
    /// End of waits for memory.
    start_by: Instant,
    received: AtomicU64,
    /// Part of `bytes` for the body.
    of_body: AtomicU64,
    bytes: AtomicU64,
    /// Number of claims to process the body.
    processing: AtomicUsize,
    /// Notified when the client has disconnected.
    abandoned: Notify,
}

impl ReservedBytes {
    pub(super) fn new(shared: Arc<Shared>, rank: SheddingRank, user: &str, start_by: Instant) -> Self {
        let received = AtomicU64::new(0);
        let of_body = AtomicU64::new(0);
        let bytes = AtomicU64::new(0);
        let processing = AtomicUsize::new(0);
        let abandoned = Notify::new();
        let user = user.into();
        ReservedBytes { shared, rank, user, start_by, received, of_body, bytes, processing, abandoned }
    }

    /// Growth for received bytes of a body with this announced length. A small body is part of the start of its request.
    pub(super) fn growth_of_received(&self, bytes: u64, announced: u64) -> Growth {
        let received = self.received.fetch_add(bytes, Relaxed).saturating_add(bytes);
        let is_small = received <= SMALL_UPDATE_BYTES_MAX as u64;
        let purpose = if is_small { Purpose::Start } else { Purpose::Receive };
        let of_body = if is_small { received } else { received.max(announced) };
        let before = self.of_body.swap(of_body, Relaxed);
        Growth { purpose, bytes: of_body.saturating_sub(before) }
    }

    /// Adds bytes to the reservation if that is possible at once.
    pub(super) fn try_grow(&self, purpose: Purpose, bytes: u64) -> bool {
        let Self { shared, rank, .. } = self;
        let claim = Claim { rank: *rank, purpose, bytes };
        let is_added = (claim.is_small() || shared.waiting.len() == 0) && shared.add(claim);
        if is_added {
            self.record(claim);
        }
        is_added
    }

    /// Records a claim that was added to the reserved memory.
    fn record(&self, claim: Claim) {
        self.bytes.fetch_add(claim.bytes, Relaxed);
        self.processing.fetch_add(claim.processing(), Relaxed);
    }

    /// Adds bytes to the reservation, and waits for them if requests in flight hold the missing memory.
    /// `retained_bytes` are used during the wait and not reserved yet.
    ///
    /// # Errors
    /// There is no memory, or the client has disconnected. Adds nothing and counts a rejection.
    pub(super) async fn grow(
        &self,
        purpose: Purpose,
        bytes: u64,
        retained_bytes: u64,
    ) -> Result<(), Overloaded> {
        if self.try_grow(purpose, bytes) {
            return Ok(());
        }
        let Self { shared, rank, user, .. } = self;
        let claim = Claim { rank: *rank, purpose, bytes };
        let waiting = shared
            .may_fit_later(claim)
            .then(|| shared.waiting.push(claim, user, retained_bytes, |claim| shared.add(claim)))
            .flatten();
        let is_added = match waiting {
            Some(waiting) => tokio::select! {
                is_granted = Wait { shared, claim, waiting: Some(waiting) }.run(self.wait_end(purpose)) => is_granted,
                () = self.abandoned.notified() => false,
            },
            None => false,
        };
        if !is_added {
            shared.count_rejection(*rank);
            return Err(Overloaded);
        }
        self.record(claim);
        Ok(())
    }

    /// End of a wait that starts now.
    fn wait_end(&self, purpose: Purpose) -> Instant {
        match purpose {
            Purpose::Start => self.start_by.min(Instant::now() + MEMORY_START_WAIT_MAX),
            Purpose::Receive | Purpose::ProcessPart | Purpose::Process => self.start_by,
        }
    }
}

impl Drop for ReservedBytes {
    fn drop(&mut self) {
        let bytes = *self.bytes.get_mut();
        let processing = *self.processing.get_mut();
        self.shared.release(bytes, processing);
    }
}

/// Wait for the memory of a claim. A dropped wait leaves the queue and returns memory that it just got.
struct Wait<'r> {
    shared: &'r Shared,
    claim: Claim,
    /// `None` after the wait.
    waiting: Option<WaitingClaim>,
}

impl Wait<'_> {
    async fn run(mut self, until: Instant) -> bool {
        let Some(waiting) = &mut self.waiting else { return false };
        let is_granted = timeout_at(until, waiting.granted()).await.is_ok();
        if is_granted {
            self.waiting = None;
        }
        is_granted
    }
}

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        let Some(waiting) = self.waiting.take() else { return };
        if !self.shared.waiting.remove(&waiting) {
            self.shared.release(self.claim.bytes, self.claim.processing());
        }
    }
}
