//! Admission control of requests, by priority and fairness or by plain limits, and the resources that a
//! request holds while it is handled.

use std::sync::{Arc, Mutex, PoisonError};

use flowcontrol::{ByKind, Watermarks};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};

use apimachinery::request_context::RequestContext;
use apimachinery::user_info::UserInfo;
use endpoints::routing::dispatch::Initialized;

use crate::limits::flow::{Classified, Fair};
use crate::limits::inflight::{Inflight, is_long_running};
use crate::limits::memory::Reservation;
use crate::limits::seat::Seat;
use crate::metrics::Filter;

/// Assigns seats to requests.
pub(crate) enum Seats {
    /// `--enable-priority-and-fairness=true`.
    Fair(Fair),
    /// `--enable-priority-and-fairness=false`.
    MaxInFlight(Inflight),
}

impl Seats {
    /// Waits for a seat for a request that was `received` at this time. Long-running requests need none,
    /// except watches until they have sent their initial state. Stores the flow schema and priority level in
    /// `classified`.
    ///
    /// # Errors
    /// The request is rejected, with the seconds until a retry.
    pub(crate) async fn seat(
        &self,
        context: &Arc<RequestContext>,
        user: &UserInfo,
        received: Instant,
        classified: &Classified,
    ) -> Result<Seat, u64> {
        let info = &context.info;
        match self {
            _ if is_long_running(info) && info.verb != "watch" => Ok(Seat::Free),
            Seats::Fair(fair) => fair.seat(context, user, received, classified).await.map(Seat::Fair),
            Seats::MaxInFlight(_) if is_long_running(info) => Ok(Seat::Free),
            Seats::MaxInFlight(inflight) => inflight.seat(info, user).ok_or(1),
        }
    }

    /// Name of the step in metrics.
    pub(crate) fn filter(&self) -> Filter {
        match self {
            Seats::Fair(_) => Filter::PriorityAndFairness,
            Seats::MaxInFlight(_) => Filter::MaxInFlight,
        }
    }

    /// Maxima of waiting and executing requests.
    pub(crate) fn watermarks(&self) -> Watermarks {
        match self {
            Seats::Fair(fair) => fair.watermarks(),
            Seats::MaxInFlight(inflight) => {
                let (reading, mutating) = inflight.current();
                let executing = ByKind { reading: reading as u64, mutating: mutating as u64 };
                Watermarks { executing, ..Watermarks::default() }
            }
        }
    }
}

/// Resources that a request holds while it is handled, released when dropped. Empty by default.
#[derive(Default)]
pub(crate) struct Grant {
    pub(crate) seat: Seat,
    pub(crate) memory: Reservation,
}

impl Grant {
    /// Extends the grant to the streaming of a response. It ends when the lease is dropped, when a watch has
    /// sent its initial state, or at `until`. A client that does not read its response causes no work, so it
    /// must not occupy a seat. By then the meter includes the memory of the response.
    pub(crate) fn into_lease(self, initialized: Option<Initialized>, until: Instant) -> Option<Lease> {
        if matches!(self.seat, Seat::Free) && self.memory.is_none() {
            return None;
        }
        let grant = Arc::new(Mutex::new(Some(self)));
        let lent = Arc::clone(&grant);
        let timer = tokio::spawn(async move {
            sleep_until(until).await;
            take(&lent);
        });
        Some(Lease { grant, initialized, timer })
    }
}

/// Grant for the duration of a response.
pub(crate) struct Lease {
    grant: Arc<Mutex<Option<Grant>>>,
    initialized: Option<Initialized>,
    timer: JoinHandle<()>,
}

impl Lease {
    /// True if the grant is no longer needed. Call it after a part of the response was produced.
    pub(crate) fn is_over(&self) -> bool {
        self.initialized.as_ref().is_some_and(Initialized::is_set)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.timer.abort();
        take(&self.grant);
    }
}

fn take(grant: &Mutex<Option<Grant>>) {
    let grant = grant.lock().unwrap_or_else(PoisonError::into_inner).take();
    drop(grant);
}
