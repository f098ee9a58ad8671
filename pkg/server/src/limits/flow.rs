//! API Priority and Fairness of the server (KEP-1040): clock, driver and debug pages of [`flowcontrol`], and
//! its use for a request (behaviour of apiserver `server/filters/priority-and-fairness.go`).

mod dropped;
mod estimate;
#[cfg(test)]
mod tests;

use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::task::ready;
use std::time::Duration;

use flowcontrol::{
    Admission, Class, Configuration, FlowControl, LevelState, Monotonic, Request, RequestDigest, Target,
    Watermarks, WorkEstimate,
};
use http::HeaderMap;
use http::header::{HeaderName, HeaderValue};
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep_until, timeout_at};

use apimachinery::request_context::RequestContext;
use apimachinery::time::UnixTime;
use apimachinery::user_info::UserInfo;
use component_base::metrics::MetricsRegistry;
use endpoints::routing::dispatch::Dispatch;

use crate::env::Env;
use crate::limits::inflight::is_mutating;
use crate::pages::{Context, Pages};
use crate::respond;
use dropped::DroppedRequestsTracker;

/// Maximum time in a queue.
const WAIT_MAX: Duration = Duration::from_secs(60);
/// A request may wait in a queue for this fraction of its timeout (1/n).
const WAIT_DIVISOR: u32 = 4;

const SCHEMA_UID: HeaderName = HeaderName::from_static("x-kubernetes-pf-flowschema-uid");
const LEVEL_UID: HeaderName = HeaderName::from_static("x-kubernetes-pf-prioritylevel-uid");

/// Time since creation, by tokio's clock.
struct Timer(Instant);

impl Monotonic for Timer {
    fn now(&self) -> Duration {
        self.0.elapsed()
    }
}

/// Flow control with a clock, shared by the configuration controller and the chain.
pub struct Fairness {
    control: FlowControl,
    start: Instant,
    /// Wall-clock time at the start.
    start_time: UnixTime,
}

impl Fairness {
    /// Creates flow control with all seats free. `now` is the wall-clock time.
    pub fn new(configuration: Configuration, now: UnixTime) -> Arc<Self> {
        let start = Instant::now();
        let control = FlowControl::new(configuration, Arc::new(Timer(start)));
        Arc::new(Fairness { control, start, start_time: now })
    }

    /// Registers the metrics of flow control.
    pub fn register(self: &Arc<Self>, registry: &MetricsRegistry) {
        let fairness = Arc::clone(self);
        registry.collect(FlowControl::METRICS, move |page| fairness.control.write_metrics(page));
    }

    /// Replaces the configuration: see [`FlowControl::configure`].
    pub fn configure(&self, configuration: Configuration) {
        self.control.configure(configuration);
    }

    /// Returns all priority levels by name, each with `queues_max` queues at most.
    pub(crate) fn levels(&self, queues_max: usize) -> Vec<LevelState> {
        self.control.levels(queues_max)
    }

    /// Rebalances seats between levels every ten seconds, and frees seats that requests hold for a while
    /// after their response. Must run as long as requests are served.
    pub async fn run(&self) {
        tokio::join!(self.adjust(), self.free_lingering());
    }

    async fn adjust(&self) {
        let period = FlowControl::ADJUSTMENT_PERIOD;
        let mut ticks = interval_at(Instant::now() + period, period);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            self.control.adjust();
        }
    }

    async fn free_lingering(&self) {
        let mut sleep = pin!(sleep_until(self.start));
        poll_fn(|cx| {
            while let Some(due) = self.control.poll_releases(cx.waker()) {
                sleep.as_mut().reset(self.start + due);
                ready!(sleep.as_mut().poll(cx));
            }
            std::task::Poll::<()>::Pending
        })
        .await;
    }
}

/// Pages under `/debug/api_priority_and_fairness/`; none is listed at `/` (apiserver
/// `util/flowcontrol/apf_controller_debug.go`).
pub(crate) fn pages(fairness: &Arc<Fairness>) -> Pages {
    let root = "/debug/api_priority_and_fairness";
    let [levels, queues, requests] = [(); 3].map(|()| Arc::clone(fairness));
    let levels = async move || respond::dump(levels.control.dump_priority_levels());
    let queues = async move || respond::dump(queues.control.dump_queues());
    let requests = async move |context: Context| {
        let details = context.query.first("includeRequestDetails").is_some_and(|value| !value.is_empty());
        respond::dump(requests.control.dump_requests(details, requests.start_time))
    };
    Pages::default()
        .add_unlisted(&format!("{root}/dump_priority_levels"), levels)
        .add_unlisted(&format!("{root}/dump_queues"), queues)
        .add_unlisted(&format!("{root}/dump_requests"), requests)
}

/// Flow schema and priority level of a request, once classified. Every response carries them.
pub(crate) type ClassifiedRequest = OnceLock<Class>;

/// True if the request is exempt from flow control; false without flow control.
pub(crate) fn is_exempt(classified: &ClassifiedRequest) -> bool {
    classified.get().is_some_and(Class::is_exempt)
}

/// Adds headers with the uids of the matching flow schema and priority level. Names would reveal the
/// importance of other clients.
pub(crate) fn put_headers(classified: &ClassifiedRequest, headers: &mut HeaderMap) {
    let Some(class) = classified.get() else { return };
    for (name, uid) in [(LEVEL_UID, class.level_uid()), (SCHEMA_UID, class.schema_uid())] {
        if let Ok(value) = HeaderValue::from_maybe_shared(uid.clone()) {
            headers.insert(name, value);
        }
    }
}

/// Assigns seats to requests.
pub(crate) struct FairQueuing {
    fairness: Arc<Fairness>,
    dispatch: Arc<dyn Dispatch>,
    dropped: DroppedRequestsTracker,
    /// Wait limit of a request without a deadline.
    request_timeout: Duration,
    env: Env,
}

impl FairQueuing {
    pub(crate) fn new(
        fairness: Arc<Fairness>,
        dispatch: Arc<dyn Dispatch>,
        request_timeout: Duration,
        env: Env,
    ) -> Self {
        FairQueuing { fairness, dispatch, dropped: DroppedRequestsTracker::default(), request_timeout, env }
    }

    /// Waits for the seats of a request. Dropping the future leaves the queue.
    ///
    /// # Errors
    /// The request is rejected, with the seconds until a retry.
    pub(crate) async fn acquire_seats(
        &self,
        context: &Arc<RequestContext>,
        user: &UserInfo,
        received: Instant,
        classified: &ClassifiedRequest,
    ) -> Result<flowcontrol::SeatGuard, u64> {
        let control = &self.fairness.control;
        let class = classified.get_or_init(|| control.classify(&digest(context, user)));
        let work = if class.is_exempt() {
            WorkEstimate::ONE
        } else {
            estimate::estimate(context, class, &*self.dispatch)
        };
        let request = Request {
            work,
            mutating: is_mutating(&context.info),
            watch: context.info.verb == "watch",
            context: Arc::clone(context),
            user: user.name.as_str().into(),
        };
        let seats = match control.request_seats(class, request) {
            Admission::Seated(seats) => Some(seats),
            Admission::Queued(queued) => timeout_at(self.wait_until(context, received), queued).await.ok(),
            Admission::Rejected(_) => None,
        };
        seats.ok_or_else(|| self.dropped.retry_after(class.level(), self.env.clock.now().seconds))
    }

    /// Recent maxima of waiting and executing requests.
    pub(crate) fn watermarks(&self) -> Watermarks {
        self.fairness.control.watermarks()
    }

    /// Latest time until which a request may wait.
    fn wait_until(&self, context: &RequestContext, received: Instant) -> Instant {
        let allowed = match context.deadline.map(Instant::from_std) {
            Some(deadline) => deadline.saturating_duration_since(received),
            None => self.request_timeout,
        };
        received + (allowed / WAIT_DIVISOR).min(WAIT_MAX)
    }
}

/// Returns the request attributes for classification.
fn digest<'a>(context: &'a RequestContext, user: &'a UserInfo) -> RequestDigest<'a> {
    let info = &context.info;
    let target = if info.is_resource {
        Target::Resource {
            group: &info.group,
            resource: &info.resource,
            subresource: &info.subresource,
            namespace: &info.namespace,
        }
    } else {
        Target::Path(&info.path)
    };
    RequestDigest { user: &user.name, groups: &user.groups, verb: &info.verb, target }
}
