//! Who is served now, who later, and who not at all: by priority and fairness, or by plain limits. And what a request
//! holds while it is worked on.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use flowcontrol::{ByKind, Watermarks};
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};

use apimachinery::request_context::RequestContext;
use apimachinery::user_info::UserInfo;
use endpoints::routing::dispatch::Initialized;

use crate::limits::flow::{Classified, Fair};
use crate::limits::inflight::{Inflight, is_long_running};
use crate::limits::memory::Reservation;
use crate::metrics::Filter;

/// What gives seats to requests.
pub(crate) enum Seats {
    /// `--enable-priority-and-fairness`.
    Fair(Fair),
    /// Without it.
    MaxInFlight(Inflight),
}

/// Leave to work on a request; dropping it gives the seat back.
#[derive(Debug, Default)]
pub(crate) enum Seat {
    /// One that takes no room.
    #[default]
    Free,
    /// One of a fixed number.
    MaxInFlight(#[allow(dead_code)] OwnedSemaphorePermit),
    /// One of a priority level.
    Fair(flowcontrol::Seat),
}

impl Seats {
    /// A seat for a request that was `received` then. Long-running ones need none, except watches until they have sent
    /// what they begin with. What the request is classified as is noted in `classified`.
    ///
    /// # Errors
    /// The request is turned away; in so many seconds it may be tried again.
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

    /// What it is called where steps of the chain are timed.
    pub(crate) fn filter(&self) -> Filter {
        match self {
            Seats::Fair(_) => Filter::PriorityAndFairness,
            Seats::MaxInFlight(_) => Filter::MaxInFlight,
        }
    }

    /// How many requests wait and are served.
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

impl Seat {
    /// How long the request waited for it.
    pub(crate) fn waited(&self) -> Duration {
        match self {
            Seat::Fair(seat) => seat.waited(),
            _ => Duration::ZERO,
        }
    }
}

/// What a request has while it is worked on; dropping it gives that back. By default it is nothing.
#[derive(Default)]
pub(crate) struct Grant {
    pub(crate) seat: Seat,
    pub(crate) memory: Reservation,
}

impl Grant {
    /// Keeps all of it while an answer is made piece by piece: until that is dropped, or a watch has sent what it begins
    /// with, but not beyond `until`: somebody who does not read his answer makes no work, and takes nobody's place. What
    /// memory the answer has by then, the meter sees.
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

/// A grant for the time that an answer takes.
pub(crate) struct Lease {
    grant: Arc<Mutex<Option<Grant>>>,
    initialized: Option<Initialized>,
    timer: JoinHandle<()>,
}

impl Lease {
    /// Whether the grant is not needed any more. To be asked when some of the answer was made.
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
