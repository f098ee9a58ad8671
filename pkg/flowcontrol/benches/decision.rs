//! Benchmarks of classification and seat assignment, with and without other waiting requests.
#![allow(clippy::panic, reason = "a benchmark may say what must hold")]
#![allow(clippy::disallowed_methods, reason = "a benchmark may look at the clock")]

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use apimachinery::request_context::RequestContext;
use divan::{Bencher, black_box};
use flowcontrol::{
    Admission, Class, Configuration, Distinguisher, FlowControl, FlowSchema, LevelKind, Monotonic,
    PriorityLevel, QueuedRequest, Queuing, Request, RequestDigest, ResourceRule, Response, Rule, Subject,
    Target, WorkEstimate,
};

#[global_allocator]
static ALLOCATOR: divan::AllocProfiler = divan::AllocProfiler::system();

fn main() {
    divan::main();
}

struct Clock(Instant);

impl Monotonic for Clock {
    fn now(&self) -> Duration {
        self.0.elapsed()
    }
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

/// A schema whose rules match all authenticated users, or one user of its own.
fn schema(number: usize) -> FlowSchema {
    let resource = format!("resource{number}");
    let subjects = match number % 2 {
        0 => vec![Subject::Group("system:authenticated".to_owned())],
        _ => vec![
            Subject::User(format!("user{number}")),
            Subject::ServiceAccount { namespace: "kube-system".to_owned(), name: format!("account{number}") },
        ],
    };
    let rule = ResourceRule {
        verbs: texts(&["get", "list", "watch", "create", "update"]),
        groups: texts(&["", "apps", "batch"]),
        resources: texts(&[&resource, "nodes", "nodes/status"]),
        cluster_scope: true,
        namespaces: texts(&["*"]),
    };
    FlowSchema {
        name: format!("schema{number:02}"),
        uid: String::new(),
        level: "workload".to_owned(),
        precedence: 1_000,
        distinguisher: Some(Distinguisher::ByUser),
        rules: vec![Rule {
            subjects,
            resource_rules: vec![rule.clone(), rule],
            non_resource_rules: Vec::new(),
        }],
    }
}

/// Fifty schemas and one level with `seats` seats. Only the last schema matches pods for everyone.
fn server(seats: u32) -> FlowControl {
    let mut schemas: Vec<FlowSchema> = (0..50).map(schema).collect();
    schemas[48].rules[0].resource_rules[1].resources = texts(&["pods"]);
    let queuing = Queuing { queues: 128, hand_size: 6, queue_length_limit: 10_000 };
    let level = PriorityLevel {
        name: "workload".to_owned(),
        uid: String::new(),
        shares: 1_000_000,
        lendable_percent: 0,
        kind: LevelKind::Limited { borrowing_limit_percent: None, response: Response::Queue(queuing) },
    };
    let configuration = Configuration::new(schemas, vec![level], seats);
    FlowControl::new(configuration, Arc::new(Clock(Instant::now())))
}

fn digest<'a>(user: &'a str, groups: &'a [String]) -> RequestDigest<'a> {
    let target = Target::Resource { group: "", resource: "pods", subresource: "", namespace: "default" };
    RequestDigest { user, groups, verb: "list", target }
}

fn groups() -> Vec<String> {
    texts(&["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"])
}

fn class(flow: &FlowControl) -> Class {
    let class = flow.classify(&digest("system:serviceaccount:default:robot", &groups()));
    assert_eq!((class.schema(), class.level()), ("schema48", "workload"));
    class
}

/// Creates a request of the user. Only the user name is allocated per request.
fn request(context: &Arc<RequestContext>) -> Request {
    let user = "system:serviceaccount:default:robot".into();
    Request { work: WorkEstimate::ONE, mutating: false, watch: false, context: Arc::clone(context), user }
}

#[divan::bench]
fn classify_by_the_last_of_50_schemas(bencher: Bencher<'_, '_>) {
    let flow = server(100);
    let groups = groups();
    class(&flow);
    let digest = digest("system:serviceaccount:default:robot", &groups);
    bencher.bench_local(|| flow.classify(black_box(&digest)));
}

#[divan::bench]
fn ask_and_give_back(bencher: Bencher<'_, '_>) {
    let flow = server(100);
    let context = Arc::default();
    let class = class(&flow);
    bencher.bench_local(|| match flow.request_seats(black_box(&class), request(&context)) {
        Admission::Seated(seat) => drop(seat),
        other => panic!("{other:?}"),
    });
}

#[divan::bench]
fn classify_ask_and_give_back(bencher: Bencher<'_, '_>) {
    let flow = server(100);
    let context = Arc::default();
    let groups = groups();
    let digest = digest("system:serviceaccount:default:robot", &groups);
    bencher.bench_local(|| {
        let class = flow.classify(black_box(&digest));
        flow.request_seats(&class, request(&context))
    });
}

/// A request joins and leaves while a thousand requests of a hundred users wait.
#[divan::bench]
fn ask_and_hang_up_where_a_thousand_wait(bencher: Bencher<'_, '_>) {
    let flow = server(10);
    let context = Arc::default();
    let groups = groups();
    let crowd = |number: usize| {
        let user = format!("crowd{}", number % 100);
        flow.request_seats(&flow.classify(&digest(&user, &groups)), request(&context))
    };
    let _crowd: Vec<Admission> = (0..1_010).map(crowd).collect();
    let class = class(&flow);
    bencher.bench_local(|| match flow.request_seats(black_box(&class), request(&context)) {
        Admission::Queued(waiting) => drop(waiting),
        other => panic!("{other:?}"),
    });
}

/// Waker that records which task was woken last.
struct Bell {
    last: Arc<AtomicUsize>,
    place: usize,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.last.store(self.place, Relaxed);
    }
}

/// Releases a seat, dispatches the next of a thousand requests, and enqueues a new request of its user.
#[divan::bench]
fn serve_the_next_where_a_thousand_wait(bencher: Bencher<'_, '_>) {
    let flow = server(1);
    let context = Arc::default();
    let groups = groups();
    let class = |number: usize| flow.classify(&digest(&format!("crowd{}", number % 100), &groups));
    let classes: Vec<Class> = (0..1_000).map(class).collect();
    let last = Arc::<AtomicUsize>::default();
    let waker = |place| Waker::from(Arc::new(Bell { last: Arc::clone(&last), place }));
    let wakers: Vec<Waker> = (0..1_000).map(waker).collect();
    let ask = |place: usize| flow.request_seats(&classes[place], request(&context));
    let Admission::Seated(first) = ask(0) else { panic!("a seat is free") };
    let mut seat = Some(first);
    let wait = |place: usize| {
        let Admission::Queued(mut waiting) = ask(place) else { panic!("the seat is taken") };
        let pending = Pin::new(&mut waiting).poll(&mut Context::from_waker(&wakers[place])).is_pending();
        assert!(pending);
        waiting
    };
    let mut crowd: Vec<QueuedRequest> = (0..1_000).map(wait).collect();
    bencher.bench_local(|| {
        drop(seat.take());
        let place = last.load(Relaxed);
        let next = Pin::new(&mut crowd[place]).poll(&mut Context::from_waker(&wakers[place]));
        let Poll::Ready(next) = next else { panic!("it was woken") };
        seat = Some(next);
        crowd[place] = wait(place);
    });
}
