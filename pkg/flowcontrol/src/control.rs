//! The whole: a configuration and its levels.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::Duration;

use apimachinery::time::UnixTime;
use arc_swap::ArcSwap;

use crate::config::Configuration;
use crate::digest::{Class, RequestDigest, Route};
use crate::level::{Admission, Lingering, Request};
use crate::matching::Matcher;
use crate::plan::Plan;
use crate::request_counts::{RequestCounter, Watermarks};
use crate::{dump, metrics};

/// A clock that never goes back.
pub trait Monotonic: Send + Sync {
    /// Time since some moment of the past, always the same.
    fn now(&self) -> Duration;
}

/// Where requests go.
struct RoutingTable {
    matcher: Matcher,
    /// One for each schema, in the order in which they are asked.
    routes: Vec<Arc<Route>>,
    /// Where those go whom no schema wants.
    rest: Arc<Route>,
}

/// Priority and fairness for one server. All methods may be called from any thread; none waits for more than a short lock.
pub struct FlowControl {
    clock: Arc<dyn Monotonic>,
    lingering: Arc<Lingering>,
    kinds: Arc<RequestCounter>,
    /// What requests see.
    served: ArcSwap<RoutingTable>,
    /// What changes it. Locked before a level.
    plan: Mutex<(Configuration, Plan)>,
}

impl FlowControl {
    /// How often [`adjust`](Self::adjust) is to be called.
    pub const ADJUSTMENT_PERIOD: Duration = Duration::from_secs(10);

    /// Flow control by `configuration`, with every seat free.
    pub fn new(configuration: Configuration, clock: Arc<dyn Monotonic>) -> Self {
        let lingering = Arc::<Lingering>::default();
        let kinds = Arc::new(RequestCounter::new(clock.now()));
        let mut plan = Plan::new(Arc::clone(&clock), Arc::clone(&lingering), Arc::clone(&kinds));
        let served = RoutingTable::new(&configuration, &mut plan, &[]);
        let plan = Mutex::new((configuration, plan));
        FlowControl { clock, lingering, kinds, served: ArcSwap::from_pointee(served), plan }
    }

    pub(crate) fn plan(&self) -> MutexGuard<'_, (Configuration, Plan)> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes over another configuration. Requests stay where they are: a level that is not wanted any more serves
    /// those who wait, and is forgotten when nobody does (seen by the next [`adjust`](Self::adjust)); queues that are
    /// too many run dry.
    pub fn configure(&self, configuration: Configuration) {
        let mut plan = self.plan();
        self.serve(&configuration, &mut plan.1);
        plan.0 = configuration;
    }

    fn serve(&self, configuration: &Configuration, plan: &mut Plan) {
        let served = RoutingTable::new(configuration, plan, &self.served.load().routes);
        self.served.store(Arc::new(served));
    }

    /// Divides the seats among the levels anew, by how many each could have used since the last time (upstream's
    /// `updateBorrowing`, KEP-1040 "Dispatching"). To be called every
    /// [`ADJUSTMENT_PERIOD`](Self::ADJUSTMENT_PERIOD).
    pub fn adjust(&self) {
        let mut locked = self.plan();
        let (configuration, plan) = &mut *locked;
        if plan.has_unused_levels() { self.serve(configuration, plan) } else { plan.adjust() }
    }

    /// The class of a request, by the first schema in order that matches. Allocates nothing, and looks at the rules
    /// for the user and its groups alone.
    pub fn classify(&self, digest: &RequestDigest<'_>) -> Class {
        let served = self.served.load();
        let route = served.matcher.find(digest).and_then(|schema| served.routes.get(schema));
        Arc::clone(route.unwrap_or(&served.rest)).class(digest)
    }

    /// Asks for seats. Between classification and this a caller should do no more than estimate the work: a level
    /// that was forgotten meanwhile serves its last requests unseen.
    pub fn ask(&self, class: &Class, request: Request) -> Admission {
        class.route.level.ask(class, request)
    }

    /// Frees the seats of requests whose additional latency is over, and says when the next one will be; `None` if
    /// none lingers. `waker` is woken when that changes to an earlier time. Whoever drives this does, in a task:
    ///
    /// ```ignore
    /// poll_fn(|cx| {
    ///     while let Some(due) = flow.poll_lingering(cx.waker()) {
    ///         sleep.as_mut().reset(start + due);
    ///         ready!(sleep.as_mut().poll(cx));
    ///     }
    ///     Poll::<()>::Pending
    /// }).await
    /// ```
    pub fn poll_releases(&self, waker: &Waker) -> Option<Duration> {
        self.lingering.listen(waker);
        let due = self.plan().1.release();
        due.inspect(|due| self.lingering.set_for(*due))
    }

    /// How many requests there were lately.
    pub fn watermarks(&self) -> Watermarks {
        self.kinds.watermarks(self.clock.now())
    }

    /// Appends all families `apiserver_flowcontrol_*` in the Prometheus text format.
    pub fn collect(&self, out: &mut String) {
        let plan = self.plan();
        metrics::write(out, &plan.1, &self.served.load().routes);
        self.kinds.write(out, self.clock.now());
    }

    /// The text of `/debug/api_priority_and_fairness/dump_priority_levels`.
    pub fn dump_priority_levels(&self) -> String {
        dump::priority_levels(&self.plan().1)
    }

    /// The text of `/debug/api_priority_and_fairness/dump_queues`.
    pub fn dump_queues(&self) -> String {
        dump::queues(&self.plan().1)
    }

    /// The text of `/debug/api_priority_and_fairness/dump_requests`; with `details` also who wants what
    /// (`?includeRequestDetails=1`). `zero` is the time of day at which the clock stood at zero.
    pub fn dump_requests(&self, details: bool, zero: UnixTime) -> String {
        dump::requests(&self.plan().1, details, zero)
    }
}

impl RoutingTable {
    /// Takes over `configuration` in `plan`, where `before` are the routes so far.
    fn new(configuration: &Configuration, plan: &mut Plan, before: &[Arc<Route>]) -> Self {
        let matcher = Matcher::new(&configuration.schemas);
        plan.configure(configuration);
        let routes = plan.routes(&configuration.schemas, before);
        let rest = Arc::clone(&routes[configuration.catch_all]);
        RoutingTable { matcher, routes, rest }
    }
}

#[cfg(test)]
mod tests;
