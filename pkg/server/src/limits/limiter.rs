//! Admission control of requests, by priority and fairness or by plain limits, and the resources that a
//! request holds while it is handled.

use std::sync::{Arc, Mutex, PoisonError};

use flowcontrol::{ReadWriteCounts, Watermarks};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};

use apimachinery::request_context::RequestContext;
use apimachinery::user_info::UserInfo;
use endpoints::routing::dispatch::InitializedFlag;

use crate::limits::flow::{ClassifiedRequest, FairQueuing};
use crate::limits::inflight::{Inflight, is_long_running};
use crate::limits::memory::Reservation;
use crate::limits::permit::RequestPermit;
use crate::metrics::Filter;

/// Assigns seats to requests.
pub(crate) enum RequestLimiter {
    /// `--enable-priority-and-fairness=true`.
    Fair(FairQueuing),
    /// `--enable-priority-and-fairness=false`.
    MaxInFlight(Inflight),
}

impl RequestLimiter {
    /// Waits for a seat for a request that was `received` at this time. Long-running requests need none,
    /// except watches until they have sent their initial state. Stores the flow schema and priority level in
    /// `classified`.
    ///
    /// # Errors
    /// The request is rejected, with the seconds until a retry.
    pub(crate) async fn acquire(
        &self,
        context: &Arc<RequestContext>,
        user: &UserInfo,
        received: Instant,
        classified: &ClassifiedRequest,
    ) -> Result<RequestPermit, u64> {
        let info = &context.info;
        match self {
            _ if is_long_running(info) && info.verb != "watch" => Ok(RequestPermit::Unlimited),
            RequestLimiter::Fair(fair) => {
                fair.acquire_seat(context, user, received, classified).await.map(RequestPermit::Fair)
            }
            RequestLimiter::MaxInFlight(_) if is_long_running(info) => Ok(RequestPermit::Unlimited),
            RequestLimiter::MaxInFlight(inflight) => inflight.acquire(info, user).ok_or(1),
        }
    }

    /// Name of the step in metrics.
    pub(crate) fn filter(&self) -> Filter {
        match self {
            RequestLimiter::Fair(_) => Filter::PriorityAndFairness,
            RequestLimiter::MaxInFlight(_) => Filter::MaxInFlight,
        }
    }

    /// Maxima of waiting and executing requests.
    pub(crate) fn watermarks(&self) -> Watermarks {
        match self {
            RequestLimiter::Fair(fair) => fair.watermarks(),
            RequestLimiter::MaxInFlight(inflight) => {
                let (reading, mutating) = inflight.current();
                let executing = ReadWriteCounts { reading: reading as u64, mutating: mutating as u64 };
                Watermarks { executing, ..Watermarks::default() }
            }
        }
    }
}

/// Resources that a request holds while it is handled, released when dropped. Empty by default.
#[derive(Default)]
pub(crate) struct Grant {
    pub(crate) permit: RequestPermit,
    pub(crate) memory: Reservation,
}

impl Grant {
    /// Extends the grant to the streaming of a response. It ends when the result is dropped, when a watch has
    /// sent its initial state, or at `until`. A client that does not read its response causes no work, so it
    /// must not occupy a seat. By then the meter includes the memory of the response.
    pub(crate) fn into_response_grant(
        self,
        initialized: Option<InitializedFlag>,
        until: Instant,
    ) -> Option<ResponseGrant> {
        if matches!(self.permit, RequestPermit::Unlimited) && self.memory.is_none() {
            return None;
        }
        let grant = Arc::new(Mutex::new(Some(self)));
        let lent = Arc::clone(&grant);
        let timer = tokio::spawn(async move {
            sleep_until(until).await;
            release(&lent);
        });
        Some(ResponseGrant { grant, initialized, timer })
    }
}

/// Grant for the duration of a response.
pub(crate) struct ResponseGrant {
    grant: Arc<Mutex<Option<Grant>>>,
    initialized: Option<InitializedFlag>,
    timer: JoinHandle<()>,
}

impl ResponseGrant {
    /// True if the grant is no longer needed. Call it after a part of the response was produced.
    pub(crate) fn is_finished(&self) -> bool {
        self.initialized.as_ref().is_some_and(InitializedFlag::is_set)
    }
}

impl Drop for ResponseGrant {
    fn drop(&mut self) {
        self.timer.abort();
        release(&self.grant);
    }
}

fn release(grant: &Mutex<Option<Grant>>) {
    let grant = grant.lock().unwrap_or_else(PoisonError::into_inner).take();
    drop(grant);
}
