//! The flow controller: a configuration and its running levels.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::Duration;

use apimachinery::time::UnixTime;
use arc_swap::ArcSwap;
use component_base::metrics::{AnyFamily, Page};

use crate::clock::Monotonic;
use crate::config::Configuration;
use crate::digest::{Class, RequestDigest, Route};
use crate::level::{Admission, Lingering};
use crate::matching::Matcher;
use crate::plan::Plan;
use crate::request::Request;
use crate::request_counts::{RequestCounter, Watermarks};
use crate::{dump, metrics};

/// Routing table of requests.
struct RoutingTable {
    matcher: Matcher,
    /// One route per schema, in matching order.
    routes: Vec<Arc<Route>>,
    /// Route of requests that no schema matches.
    catch_all: Arc<Route>,
}

/// Priority and fairness for one server. All methods are thread-safe and block at most for a short lock.
pub struct FlowControl {
    clock: Arc<dyn Monotonic>,
    lingering: Arc<Lingering>,
    request_counter: Arc<RequestCounter>,
    /// The routing table for requests.
    served: ArcSwap<RoutingTable>,
    /// The configuration and the levels. Locked before a level.
    plan: Mutex<(Configuration, Plan)>,
}

impl FlowControl {
    /// Period of [`adjust`](Self::adjust) calls.
    pub const ADJUSTMENT_PERIOD: Duration = Duration::from_secs(10);

    /// Creates a flow controller with `configuration`; all seats are free.
    pub fn new(configuration: Configuration, clock: Arc<dyn Monotonic>) -> Self {
        let lingering = Arc::<Lingering>::default();
        let request_counter = Arc::new(RequestCounter::new(clock.now()));
        let mut plan = Plan::new(Arc::clone(&clock), Arc::clone(&lingering), Arc::clone(&request_counter));
        let served = RoutingTable::new(&configuration, &mut plan, &[]);
        let plan = Mutex::new((configuration, plan));
        FlowControl { clock, lingering, request_counter, served: ArcSwap::from_pointee(served), plan }
    }

    pub(crate) fn plan(&self) -> MutexGuard<'_, (Configuration, Plan)> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replaces the configuration. Requests stay where they are. A removed level serves its waiting requests
    /// and is dropped when it is empty, at the next [`adjust`](Self::adjust). Surplus queues run dry.
    pub fn configure(&self, configuration: Configuration) {
        let mut plan = self.plan();
        self.serve(&configuration, &mut plan.1);
        plan.0 = configuration;
    }

    fn serve(&self, configuration: &Configuration, plan: &mut Plan) {
        let served = RoutingTable::new(configuration, plan, &self.served.load().routes);
        self.served.store(Arc::new(served));
    }

    /// Divides the seats among the levels again, by the demand of each since the last call (upstream's
    /// `updateBorrowing`, KEP-1040 "Dispatching"). Must be called every
    /// [`ADJUSTMENT_PERIOD`](Self::ADJUSTMENT_PERIOD).
    pub fn adjust(&self) {
        let mut locked = self.plan();
        let (configuration, plan) = &mut *locked;
        if plan.has_unused_levels() { self.serve(configuration, plan) } else { plan.adjust() }
    }

    /// Classifies a request by the first schema that matches. Allocates nothing, and checks only the rules
    /// for the user and its groups.
    pub fn classify(&self, digest: &RequestDigest<'_>) -> Class {
        let served = self.served.load();
        let route = served.matcher.find(digest).and_then(|schema| served.routes.get(schema));
        Arc::clone(route.unwrap_or(&served.catch_all)).class(digest)
    }

    /// Requests seats. Between classification and this call a caller should only estimate the work. Otherwise
    /// the level may be dropped in between, and its last requests are missing from metrics and dumps.
    pub fn request_seats(&self, class: &Class, request: Request) -> Admission {
        class.route.level.request_seats(&class.route.schema, class.hash, request)
    }

    /// Frees the seats of requests whose additional latency is over. Returns the time of the next release;
    /// `None` if none is pending. `waker` is woken when a release becomes due before that time. Drive it in a task:
    ///
    /// ```ignore
    /// poll_fn(|cx| {
    ///     while let Some(due) = flow.poll_releases(cx.waker()) {
    ///         sleep.as_mut().reset(start + due);
    ///         ready!(sleep.as_mut().poll(cx));
    ///     }
    ///     Poll::<()>::Pending
    /// }).await
    /// ```
    pub fn poll_releases(&self, waker: &Waker) -> Option<Duration> {
        self.lingering.register_waker(waker);
        let due = self.plan().1.release();
        due.inspect(|due| self.lingering.set_alarm(*due))
    }

    /// Returns the recent peaks of request counts.
    pub fn watermarks(&self) -> Watermarks {
        self.request_counter.watermarks(self.clock.now())
    }

    /// Metric families `apiserver_flowcontrol_*`.
    pub const METRICS: &[&dyn AnyFamily] = metrics::FAMILIES;

    /// Writes [`METRICS`](Self::METRICS).
    pub fn write_metrics(&self, page: &mut Page<'_>) {
        let plan = self.plan();
        metrics::write(page, &plan.1, &self.served.load().routes);
        self.request_counter.write(page, self.clock.now());
    }

    /// Returns the page `/debug/api_priority_and_fairness/dump_priority_levels`.
    pub fn dump_priority_levels(&self) -> String {
        dump::priority_levels(&self.plan().1)
    }

    /// Returns the page `/debug/api_priority_and_fairness/dump_queues`.
    pub fn dump_queues(&self) -> String {
        dump::queues(&self.plan().1)
    }

    /// Returns the page `/debug/api_priority_and_fairness/dump_requests`, with user and request columns if
    /// `details` is true (`?includeRequestDetails=1`). `zero` is the wall-clock time at which the monotonic
    /// clock was zero.
    pub fn dump_requests(&self, details: bool, zero: UnixTime) -> String {
        dump::requests(&self.plan().1, details, zero)
    }
}

impl RoutingTable {
    /// Applies `configuration` to `plan` and builds its routes. `before` are the previous routes.
    fn new(configuration: &Configuration, plan: &mut Plan, before: &[Arc<Route>]) -> Self {
        let matcher = Matcher::new(&configuration.schemas);
        plan.configure(configuration);
        let routes = plan.routes(&configuration.schemas, before);
        let catch_all = Arc::clone(&routes[configuration.catch_all]);
        RoutingTable { matcher, routes, catch_all }
    }
}

#[cfg(test)]
mod tests;
