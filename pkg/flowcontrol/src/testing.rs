//! Shared test helpers: a manual clock, seeded random numbers and small configurations.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Wake, Waker};
use std::time::Duration;

use apimachinery::request_context::RequestContext;
use apimachinery::request_info::RequestInfo;
use component_base::metrics::{Page, Selection};

use crate::clock::Monotonic;
use crate::config::{
    Configuration, Distinguisher, FlowSchema, LevelKind, NonResourceRule, PriorityLevel, Queuing,
    ResourceRule, Response, Rule, Subject,
};
use crate::control::FlowControl;
use crate::digest::{Class, RequestDigest, Target};
use crate::request::{Request, WorkEstimate};

/// A clock that only moves when it is set.
#[derive(Default)]
pub(crate) struct ManualClock(AtomicU64);

impl ManualClock {
    pub(crate) fn set(&self, now: Duration) {
        self.0.store(u64::try_from(now.as_nanos()).unwrap(), Relaxed);
    }
}

impl Monotonic for ManualClock {
    fn now(&self) -> Duration {
        Duration::from_nanos(self.0.load(Relaxed))
    }
}

/// SplitMix64.
pub(crate) struct Rng(pub(crate) u64);

impl Rng {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number below `bound`.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    pub(crate) fn one_in(&mut self, many: u64) -> bool {
        self.below(many) == 0
    }
}

/// Records the tasks that are woken.
#[derive(Default, Clone)]
pub(crate) struct WakeRecorder(Arc<Mutex<Vec<u64>>>);

struct RecordingWaker(WakeRecorder, u64);

impl Wake for RecordingWaker {
    fn wake(self: Arc<Self>) {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner).push(self.1);
    }
}

impl WakeRecorder {
    /// Returns a waker that records `id`.
    pub(crate) fn waker(&self, id: u64) -> Waker {
        Waker::from(Arc::new(RecordingWaker(self.clone(), id)))
    }

    /// Returns the ids woken since the last call.
    pub(crate) fn take_woken(&self) -> Vec<u64> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A request with this `work`: a list of the pods of a namespace.
pub(crate) fn request(work: WorkEstimate) -> Request {
    let info = RequestInfo {
        verb: "list".to_owned(),
        path: "/api/v1/namespaces/a/pods".to_owned(),
        namespace: "a".to_owned(),
        version: "v1".to_owned(),
        resource: "pods".to_owned(),
        ..RequestInfo::default()
    };
    let context = Arc::new(RequestContext { info, ..RequestContext::default() });
    Request { work, mutating: false, watch: false, context, user: "ann".into() }
}

/// `WorkEstimate::ONE` with this many seats.
pub(crate) fn wide(initial_seats: u32) -> WorkEstimate {
    WorkEstimate { initial_seats, ..WorkEstimate::ONE }
}

/// A digest of a user's list of pods in the namespace `a`.
pub(crate) fn list_by<'a>(user: &'a str, groups: &'a [String]) -> RequestDigest<'a> {
    let target = Target::Resource { group: "", resource: "pods", subresource: "", namespace: "a" };
    RequestDigest { user, groups, verb: "list", target }
}

/// The class of a user's list of pods.
pub(crate) fn class(flow: &FlowControl, user: &str) -> Class {
    flow.classify(&list_by(user, &[]))
}

/// A schema for all requests of the named users, or of all users if there are none.
pub(crate) fn schema(name: &str, level: &str, precedence: i32, users: &[&str]) -> FlowSchema {
    let all = || vec!["*".to_owned()];
    let users = if users.is_empty() { &["*"] } else { users };
    let rule = Rule {
        subjects: users.iter().map(|user| Subject::User((*user).to_owned())).collect(),
        resource_rules: vec![ResourceRule {
            verbs: all(),
            groups: all(),
            resources: all(),
            cluster_scope: true,
            namespaces: all(),
        }],
        non_resource_rules: vec![NonResourceRule { verbs: all(), paths: all() }],
    };
    FlowSchema {
        name: name.to_owned(),
        uid: format!("{name}-uid"),
        level: level.to_owned(),
        precedence,
        distinguisher: Some(Distinguisher::ByUser),
        rules: vec![rule],
    }
}

/// A level that lends half of its seats, with `queuing` or without queues.
pub(crate) fn level(name: &str, shares: u32, queuing: Option<Queuing>) -> PriorityLevel {
    let response = queuing.map_or(Response::Reject, Response::Queue);
    PriorityLevel {
        name: name.to_owned(),
        uid: format!("{name}-uid"),
        shares,
        lendable_percent: 50,
        kind: LevelKind::Limited { borrowing_limit_percent: None, response },
    }
}

pub(crate) fn queuing(queues: u32, hand_size: u32, queue_length_limit: u32) -> Option<Queuing> {
    Some(Queuing { queues, hand_size, queue_length_limit })
}

/// One level of `seats` for everyone, and a clock. The mandatory level beside it has next to no seats.
pub(crate) fn one_level(seats: u32, queuing: Option<Queuing>) -> (FlowControl, Arc<ManualClock>) {
    let clock = Arc::<ManualClock>::default();
    let mut levels = vec![level("only", 1_000_000, queuing)];
    levels[0].lendable_percent = 0;
    let configuration = Configuration::new(vec![schema("all", "only", 5, &[])], levels, seats);
    (FlowControl::new(configuration, Arc::clone(&clock) as Arc<dyn Monotonic>), clock)
}

/// Returns the metrics of a flow control.
pub(crate) fn metrics_page(flow: &FlowControl) -> String {
    let selection = Selection::default();
    let mut page = Page::new(&selection);
    flow.write_metrics(&mut page);
    page.into_text()
}
