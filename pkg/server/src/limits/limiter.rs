//! Admission control of requests, by priority and fairness or by plain limits, and the resources that a
//! request holds while it is handled.

use std::sync::{Arc, Mutex, PoisonError};

use flowcontrol::{ReadWriteCounts, Watermarks};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};

use apimachinery::request_context::RequestContext;
use apimachinery::user_info::UserInfo;
use endpoints::routing::dispatch::InitializedFlag;

use crate::limits::concurrency::ConcurrencyGuard;
use crate::limits::flow::{ClassifiedRequest, FairQueuing};
use crate::limits::inflight::{Inflight, is_long_running};
use crate::limits::memory::Reservation;
use crate::metrics::Filter;

/// Limits the number of requests that are handled at the same time.
pub(crate) enum RequestLimiter {
    /// `--enable-priority-and-fairness=true`.
    Fair(FairQueuing),
    /// `--enable-priority-and-fairness=false`.
    MaxInFlight(Inflight),
}

impl RequestLimiter {
    /// Waits for a share of the limit for a request that was `received` at this time. Long-running requests
    /// need none, except watches until they have sent their initial state. Stores the flow schema and priority
    /// level in `classified`.
    ///
    /// # Errors
    /// The request is rejected, with the seconds until a retry.
    pub(crate) async fn acquire(
        &self,
        context: &Arc<RequestContext>,
        user: &UserInfo,
        received: Instant,
        classified: &ClassifiedRequest,
    ) -> Result<ConcurrencyGuard, u64> {
        let info = &context.info;
        match self {
            _ if is_long_running(info) && info.verb != "watch" => Ok(ConcurrencyGuard::Unlimited),
            RequestLimiter::Fair(fair) => {
                fair.acquire_seats(context, user, received, classified).await.map(ConcurrencyGuard::Fair)
            }
            RequestLimiter::MaxInFlight(_) if is_long_running(info) => Ok(ConcurrencyGuard::Unlimited),
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

/// Shares of the limits that a request occupies while it is handled, released when dropped. Empty by default.
#[derive(Default)]
pub(crate) struct LimitGuards {
    pub(crate) concurrency: ConcurrencyGuard,
    pub(crate) memory: Reservation,
}

impl LimitGuards {
    /// Holds the guards while a response is streamed. They are released when the result is dropped, when a watch
    /// has sent its initial state, or at `until`. A client that does not read its response causes no work, so it
    /// must not occupy seats. By then the meter includes the memory of the response.
    pub(crate) fn into_response_guards(
        self,
        initialized: Option<InitializedFlag>,
        until: Instant,
    ) -> Option<ResponseLimitGuards> {
        if matches!(self.concurrency, ConcurrencyGuard::Unlimited) && self.memory.is_none() {
            return None;
        }
        let guards = Arc::new(Mutex::new(Some(self)));
        let timed_guards = Arc::clone(&guards);
        let timer = tokio::spawn(async move {
            sleep_until(until).await;
            release(&timed_guards);
        });
        Some(ResponseLimitGuards { guards, initialized, timer })
    }
}

/// Shares of the limits that a request occupies while its response is sent.
pub(crate) struct ResponseLimitGuards {
    guards: Arc<Mutex<Option<LimitGuards>>>,
    initialized: Option<InitializedFlag>,
    timer: JoinHandle<()>,
}

impl ResponseLimitGuards {
    /// True if the guards are no longer needed. Call it after a part of the response was produced.
    pub(crate) fn is_finished(&self) -> bool {
        self.initialized.as_ref().is_some_and(InitializedFlag::is_set)
    }
}

impl Drop for ResponseLimitGuards {
    fn drop(&mut self) {
        self.timer.abort();
        release(&self.guards);
    }
}

fn release(guards: &Mutex<Option<LimitGuards>>) {
    let guards = guards.lock().unwrap_or_else(PoisonError::into_inner).take();
    drop(guards);
}
