//! Configurations, and requests during configuration changes.

use std::pin::Pin;
use std::task::{Context, Poll};

use super::*;
use crate::config::{LevelKind, PriorityLevel};
use crate::level::{QueuedRequest, SeatGuard};
use crate::request::{Rejection, WorkEstimate};
use crate::testing::{
    ManualClock, WakeRecorder, class, level, list_by, one_level, queuing, request, schema, wide,
};

fn with(configuration: Configuration) -> (FlowControl, Arc<ManualClock>) {
    let clock = Arc::<ManualClock>::default();
    (FlowControl::new(configuration, Arc::clone(&clock) as Arc<dyn Monotonic>), clock)
}

fn seated(admission: Admission) -> SeatGuard {
    match admission {
        Admission::Seated(seat) => seat,
        admission => panic!("{admission:?}"),
    }
}

fn waits(admission: Admission) -> QueuedRequest {
    match admission {
        Admission::Queued(waiting) => waiting,
        admission => panic!("{admission:?}"),
    }
}

fn poll(waiting: &mut QueuedRequest, bell: &WakeRecorder) -> Option<SeatGuard> {
    match Pin::new(waiting).poll(&mut Context::from_waker(&bell.waker(0))) {
        Poll::Ready(seat) => Some(seat),
        Poll::Pending => None,
    }
}

#[test]
fn default_configuration_exempts_administrators() {
    let (flow, _clock) = with(Configuration::mandatory(3));
    let groups = |group: &str| [group.to_owned()];
    let root = flow.classify(&list_by("root", &groups("system:masters")));
    assert_eq!((root.schema(), root.level(), root.is_exempt()), ("exempt", "exempt", true));
    for user in [groups("system:authenticated"), groups("system:unauthenticated"), groups("nothing")] {
        let class = flow.classify(&list_by("ann", &user));
        assert_eq!(
            (class.schema(), class.level(), &class.schema_uid()[..]),
            ("catch-all", "catch-all", &b""[..])
        );
    }
    let ann = class(&flow, "ann");
    let _seats: Vec<SeatGuard> =
        (0..3).map(|_| seated(flow.request_seats(&ann, request(WorkEstimate::ONE)))).collect();
    let rejected = flow.request_seats(&ann, request(WorkEstimate::ONE));
    assert!(matches!(rejected, Admission::Rejected(Rejection::ConcurrencyLimit)));
    drop(seated(flow.request_seats(&root, request(wide(100)))));
}

#[test]
fn invalid_objects_are_left_out() {
    let exempt = |name: &str| PriorityLevel { kind: LevelKind::Exempt, ..level(name, 5, None) };
    let levels = vec![
        exempt("free"),
        level("exempt", 5, None),
        level("no-hand", 5, queuing(4, 5, 1)),
        level("none", 5, queuing(0, 0, 1)),
        level("good", 5, queuing(4, 2, 1)),
    ];
    let names = ["free", "no-hand", "none", "missing", "catch-all", "good"];
    let schemas = names.map(|level| schema(&format!("to-{level}"), level, 5, &[]));
    let configuration = Configuration::new(schemas.to_vec(), levels, 100);
    let valid: Vec<&str> = configuration.schemas.iter().map(|schema| schema.name.as_str()).collect();
    assert_eq!(valid, ["exempt", "to-good", "catch-all"]);
    let (flow, _clock) = with(configuration);
    let good = class(&flow, "ann");
    assert_eq!((good.level(), &good.schema_uid()[..]), ("good", &b"to-good-uid"[..]));
    assert_eq!(good.level_uid(), "good-uid");
    assert!(!good.is_exempt());
    let rows = flow.dump_priority_levels();
    assert_eq!(rows.lines().count(), 4, "{rows}");
}

#[test]
fn flow_hashes_equal_upstreams() {
    let numbers = include_str!("../testdata/upstream.txt");
    let mut flows = 0;
    for line in numbers.lines().filter_map(|line| line.strip_prefix("hash ")) {
        let (question, hash) = line.split_once(": ").unwrap();
        let [_, name, _, user, _] = question.split('"').collect::<Vec<_>>().try_into().unwrap();
        let schemas = vec![schema(name, "only", 5, &[])];
        let (flow, _clock) =
            with(Configuration::new(schemas, vec![level("only", 5, queuing(64, 6, 50))], 100));
        assert_eq!(class(&flow, user).hash.to_string(), hash, "{line}");
        flows += 1;
    }
    assert_eq!(flows, 4);
}

#[test]
fn estimate_is_bounded_by_level_and_hand() {
    let check = |seats, queuing, expected| {
        let (flow, _clock) = one_level(seats, queuing);
        assert_eq!(class(&flow, "ann").seats_max(), expected);
    };
    check(245, queuing(128, 6, 50), Some(37));
    check(40, queuing(128, 6, 50), Some(6));
    check(20, queuing(128, 8, 50), Some(2));
    check(3, queuing(128, 6, 50), Some(1));
    check(100, None, None);
}

#[test]
fn removed_level_drains() {
    let (flow, _clock) = one_level(1, queuing(4, 1, 10));
    let ann = class(&flow, "ann");
    let seat = seated(flow.request_seats(&ann, request(WorkEstimate::ONE)));
    let mut waiting = waits(flow.request_seats(&ann, request(WorkEstimate::ONE)));
    let bell = WakeRecorder::default();
    assert!(poll(&mut waiting, &bell).is_none());
    flow.configure(Configuration::mandatory(1));
    assert_eq!(class(&flow, "ann").level(), "catch-all");
    assert!(flow.dump_priority_levels().contains("\nonly,              1,            false,  true, "));
    drop(seat);
    assert_eq!(bell.take_woken(), [0]);
    drop(poll(&mut waiting, &bell).unwrap());
    flow.adjust();
    assert!(!flow.dump_priority_levels().contains("only"));
}

#[test]
fn restored_level_keeps_its_state() {
    let (flow, _clock) = one_level(1, queuing(4, 1, 10));
    let seat = seated(flow.request_seats(&class(&flow, "ann"), request(WorkEstimate::ONE)));
    flow.configure(Configuration::mandatory(1));
    let schemas = vec![schema("all", "only", 5, &[])];
    flow.configure(Configuration::new(schemas, vec![level("only", 1_000_000, queuing(4, 1, 10))], 1));
    let _waiting = waits(flow.request_seats(&class(&flow, "ann"), request(WorkEstimate::ONE)));
    drop(seat);
}

#[test]
fn mandatory_level_survives_object_deletion() {
    let levels = vec![level("catch-all", 95, queuing(8, 2, 10)), level("other", 5, None)];
    let (flow, _clock) = with(Configuration::new(Vec::new(), levels, 100));
    flow.configure(Configuration::new(Vec::new(), vec![level("other", 5, None)], 100));
    let page = crate::testing::metrics_page(&flow);
    assert!(
        page.contains("apiserver_flowcontrol_nominal_limit_seats{priority_level=\"catch-all\"} 95\n"),
        "{page}"
    );
    assert_eq!(class(&flow, "ann").level_uid(), "catch-all-uid");
}

#[test]
fn seats_follow_demand() {
    let schemas = vec![schema("busy", "busy", 5, &["ann"]), schema("idle", "idle", 6, &["bob"])];
    let levels = vec![level("busy", 10, queuing(4, 1, 100)), level("idle", 85, queuing(4, 1, 100))];
    let (flow, clock) = with(Configuration::new(schemas, levels, 100));
    let ann = class(&flow, "ann");
    let mut admissions: Vec<Admission> =
        (0..50).map(|_| flow.request_seats(&ann, request(WorkEstimate::ONE))).collect();
    let waiting = |admissions: &[Admission]| {
        admissions.iter().filter(|admission| matches!(admission, Admission::Queued(_))).count()
    };
    let before = waiting(&admissions);
    assert!(before > 0, "the level has fewer seats than requests");
    let bell = WakeRecorder::default();
    for admission in &mut admissions {
        if let Admission::Queued(waiting) = admission {
            assert!(poll(waiting, &bell).is_none());
        }
    }
    clock.set(FlowControl::ADJUSTMENT_PERIOD);
    flow.adjust();
    assert_eq!(bell.take_woken().len(), before, "all of them have a seat now");
    // The lender gets its seats back as soon as they are free.
    drop(admissions);
    let bob = class(&flow, "bob");
    let _admissions: Vec<Admission> =
        (0..85).map(|_| flow.request_seats(&bob, request(WorkEstimate::ONE))).collect();
    clock.set(2 * FlowControl::ADJUSTMENT_PERIOD);
    flow.adjust();
    let page = crate::testing::metrics_page(&flow);
    let limit = |level| {
        let start = format!("apiserver_flowcontrol_current_limit_seats{{priority_level=\"{level}\"}} ");
        page.lines().find_map(|line| line.strip_prefix(&start)?.parse::<u32>().ok()).unwrap()
    };
    assert!(limit("idle") >= 75, "{}", limit("idle"));
}

#[test]
fn driver_wakes_only_for_earlier_release() {
    let (flow, clock) = one_level(10, queuing(4, 1, 10));
    let ann = class(&flow, "ann");
    let lingering = |millis| {
        let additional_latency = Duration::from_millis(millis);
        seated(flow.request_seats(
            &ann,
            request(WorkEstimate { initial_seats: 1, final_seats: 1, additional_latency }),
        ))
    };
    let bell = WakeRecorder::default();
    let driver = bell.waker(9);
    assert_eq!(flow.poll_releases(&driver), None);
    drop(lingering(20));
    assert_eq!(bell.take_woken(), [9]);
    assert_eq!(flow.poll_releases(&driver), Some(Duration::from_millis(20)));
    drop(lingering(30));
    assert!(bell.take_woken().is_empty());
    drop(lingering(10));
    assert_eq!(bell.take_woken(), [9]);
    clock.set(Duration::from_millis(25));
    assert_eq!(flow.poll_releases(&driver), Some(Duration::from_millis(30)));
}

#[test]
fn seats_come_and_go_on_many_threads() {
    let (flow, _clock) = one_level(3, queuing(8, 2, 1_000));
    std::thread::scope(|scope| {
        for user in ["ann", "bob", "cid", "dan"] {
            let flow = &flow;
            scope.spawn(move || {
                let class = class(flow, user);
                for turn in 0..2_000 {
                    match flow.request_seats(&class, request(WorkEstimate::ONE)) {
                        Admission::Seated(seat) => drop(seat),
                        Admission::Queued(waiting) if turn % 3 == 0 => drop(waiting),
                        Admission::Queued(mut waiting) => {
                            let waker = std::thread::current();
                            let waker = Waker::from(Arc::new(Unpark(waker)));
                            while Pin::new(&mut waiting).poll(&mut Context::from_waker(&waker)).is_pending() {
                                std::thread::park();
                            }
                        }
                        Admission::Rejected(why) => panic!("{why:?}"),
                    }
                }
            });
        }
    });
    let only = class(&flow, "ann").route.level.lock().summary();
    assert_eq!((only.waiting, only.executing, only.seats_in_use), (0, 0, 0));
    assert_eq!(only.dispatched + only.cancelled, 8_000);
}

struct Unpark(std::thread::Thread);

impl std::task::Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

#[test]
fn snapshot_contains_the_longest_queues() {
    let (flow, _clock) = one_level(1, queuing(4, 1, 10));
    let ann = class(&flow, "ann");
    let _seat = seated(flow.request_seats(&ann, request(WorkEstimate::ONE)));
    let _waiting = [(); 2].map(|()| waits(flow.request_seats(&ann, request(WorkEstimate::ONE))));
    let levels = flow.levels(1);
    let only = levels.iter().find(|level| level.name == "only").unwrap();
    assert_eq!((only.seats, only.seats_in_use, only.executing, only.waiting), (1, 1, 1, 2));
    assert_eq!((only.dispatched, only.rejected, only.exempt, only.quiescing), (1, 0, false, false));
    let queues: Vec<_> = only.queues.iter().map(|queue| (queue.waiting, queue.executing)).collect();
    assert_eq!(queues, [(2, 1)]);
    assert!(levels.iter().any(|level| level.name == "exempt" && level.exempt && level.queues.is_empty()));
    assert!(flow.levels(0).iter().all(|level| level.queues.is_empty()));
}
