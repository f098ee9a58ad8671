//! Greedy flows get equal parts, and quiet flows are served soon.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use crate::config::Queuing;
use crate::control::FlowControl;
use crate::level::{Admission, QueuedRequest, SeatGuard};
use crate::request::WorkEstimate;
use crate::shuffle_sharding::Dealer;
use crate::testing::{ManualClock, Rng, WakeRecorder, class, one_level, queuing, request, wide};

/// Demand of a flow.
struct FlowDemand {
    width: u32,
    /// Average execution time; each request takes half to one and a half times that.
    takes: Duration,
    /// Requests in flight at any time.
    at_once: usize,
    /// Pause between the end of a request and the next one.
    rests: Duration,
}

/// Service that a flow received.
#[derive(Debug, Default, Clone)]
struct FlowService {
    /// Seat-seconds.
    work: f64,
    waits: Vec<Duration>,
}

struct FairnessSimulation {
    flow: FlowControl,
    clock: Arc<ManualClock>,
    users: Vec<String>,
    wishes: Vec<FlowDemand>,
    rng: Rng,
    bell: WakeRecorder,
    waiting: BTreeMap<u64, (usize, QueuedRequest)>,
    /// End of executions and arrivals, by time.
    events: BinaryHeap<Reverse<(Duration, u64, usize)>>,
    served: BTreeMap<u64, SeatGuard>,
    next: u64,
    now: Duration,
    /// Start of the measurement.
    from: Duration,
    got: Vec<FlowService>,
}

/// Returns users whose flows share no queue.
fn apart(flow: &FlowControl, count: usize, queuing: Queuing) -> Vec<String> {
    let dealer = Dealer::new(queuing.queues, queuing.hand_size).unwrap();
    let mut used_queues = Vec::new();
    let mut users = Vec::new();
    for number in 0.. {
        let user = format!("user{number}");
        let hand = dealer.deal(class(flow, &user).hash);
        if users.len() < count && hand.iter().all(|card| !used_queues.contains(card)) {
            used_queues.extend(hand);
            users.push(user);
        }
        if users.len() == count {
            break;
        }
    }
    users
}

impl FairnessSimulation {
    fn new(seats: u32, queuing: Queuing, wishes: Vec<FlowDemand>) -> Self {
        let (flow, clock) = one_level(seats, Some(queuing));
        let users = apart(&flow, wishes.len(), queuing);
        let mut events = BinaryHeap::new();
        for (flow, wish) in wishes.iter().enumerate() {
            (0..wish.at_once).for_each(|_| events.push(Reverse((Duration::ZERO, u64::MAX, flow))));
        }
        FairnessSimulation {
            flow,
            clock,
            users,
            got: vec![FlowService::default(); wishes.len()],
            wishes,
            rng: Rng(7),
            bell: WakeRecorder::default(),
            waiting: BTreeMap::new(),
            events,
            served: BTreeMap::new(),
            next: 0,
            now: Duration::ZERO,
            from: Duration::from_secs(5),
        }
    }

    fn run(mut self, until: Duration) -> Vec<FlowService> {
        while let Some(Reverse((at, id, flow))) = self.events.pop() {
            if at > until {
                break;
            }
            self.now = at;
            self.clock.set(at);
            match self.served.remove(&id) {
                Some(seat) => {
                    drop(seat);
                    self.events.push(Reverse((at + self.wishes[flow].rests, u64::MAX, flow)));
                }
                None => self.arrive(flow),
            }
            for id in self.bell.take_woken() {
                self.poll(id);
            }
        }
        self.got
    }

    fn arrive(&mut self, flow: usize) {
        let class = class(&self.flow, &self.users[flow]);
        let id = self.next;
        self.next += 1;
        match self.flow.request_seats(&class, request(wide(self.wishes[flow].width))) {
            Admission::Seated(seat) => self.serve(id, flow, seat),
            Admission::Queued(queued) => {
                self.waiting.insert(id, (flow, queued));
                self.poll(id);
            }
            Admission::Rejected(rejection) => panic!("{rejection:?}"),
        }
    }

    fn poll(&mut self, id: u64) {
        let Some((flow, waiting)) = self.waiting.get_mut(&id) else { return };
        let flow = *flow;
        let waker = self.bell.waker(id);
        if let Poll::Ready(seat) = Pin::new(waiting).poll(&mut Context::from_waker(&waker)) {
            self.waiting.remove(&id);
            self.serve(id, flow, seat);
        }
    }

    fn serve(&mut self, id: u64, flow: usize, seat: SeatGuard) {
        let FlowDemand { width, takes, .. } = self.wishes[flow];
        let nanos = takes.as_nanos() as u64;
        let takes = Duration::from_nanos(nanos / 2 + self.rng.below(nanos));
        if self.now >= self.from {
            self.got[flow].work += f64::from(width) * takes.as_secs_f64();
            self.got[flow].waits.push(seat.queue_time());
        }
        self.served.insert(id, seat);
        self.events.push(Reverse((self.now + takes, id, flow)));
    }
}

fn greedy(width: u32, millis: u64) -> FlowDemand {
    FlowDemand { width, takes: Duration::from_millis(millis), at_once: 90, rests: Duration::ZERO }
}

fn check_equal_parts(queuing: Queuing) {
    let wishes = vec![greedy(1, 5), greedy(1, 40), greedy(2, 10), greedy(1, 20), greedy(2, 3)];
    let got = FairnessSimulation::new(20, queuing, wishes).run(Duration::from_secs(20));
    let least = got.iter().map(|got| got.work).fold(f64::INFINITY, f64::min);
    let most = got.iter().map(|got| got.work).fold(0.0, f64::max);
    let work: Vec<f64> = got.iter().map(|got| got.work).collect();
    assert!(most <= least * 1.1, "{work:?}");
    // Seats are idle at times because the next request needs two. If that happened often, fast queues would
    // get less: virtual time advances and entitlement cannot be saved up.
    assert!(work.iter().sum::<f64>() > 0.95 * 20.0 * 15.0, "{work:?}");
}

#[test]
fn greedy_flows_get_equal_parts() {
    check_equal_parts(queuing(64, 1, 100).unwrap());
    check_equal_parts(queuing(64, 4, 100).unwrap());
}

#[test]
fn wait_time_is_bounded() {
    let queuing = queuing(8, 1, 100).unwrap();
    let wishes =
        vec![greedy(1, 2), greedy(1, 10), greedy(25, 10), greedy(10, 30), greedy(2, 5), greedy(1, 1)];
    let widest = wishes.iter().map(|wish| f64::from(wish.width) * wish.takes.as_secs_f64() * 1.5);
    let most_work = widest.fold(0.0, f64::max);
    let flows = wishes.len() as f64;
    let got = FairnessSimulation::new(20, queuing, wishes).run(Duration::from_secs(20));
    // A flow has at most 90 queued requests and a sixth of the seats. Wide requests leave some seats idle.
    let bound = Duration::from_secs_f64(90.0 * most_work * flows / 20.0 * 1.5);
    let longest = got.iter().flat_map(|got| &got.waits).max().unwrap();
    assert!(*longest < bound, "{longest:?} {bound:?}");
    assert!(got.iter().all(|got| got.waits.len() > 100));
}

#[test]
fn quiet_flow_gets_the_next_free_seat() {
    let quiet = FlowDemand {
        width: 1,
        takes: Duration::from_millis(1),
        at_once: 1,
        rests: Duration::from_millis(50),
    };
    let crowd = FlowDemand { at_once: 1_000, ..greedy(1, 20) };
    let got = FairnessSimulation::new(10, queuing(64, 6, 1_000).unwrap(), vec![crowd, quiet])
        .run(Duration::from_secs(20));
    let longest = |got: &FlowService| got.waits.iter().max().copied().unwrap();
    // With ten seats taken for up to 30 ms, one becomes free within a few milliseconds.
    assert!(longest(&got[1]) < Duration::from_millis(15), "{:?}", longest(&got[1]));
    assert!(longest(&got[0]) > Duration::from_millis(1_000), "{:?}", longest(&got[0]));
    assert!(got[1].waits.len() > 200);
}

#[test]
fn final_seats_count_for_their_flow() {
    let (flow, clock) = one_level(4, queuing(8, 1, 100));
    let work =
        WorkEstimate { initial_seats: 1, final_seats: 4, additional_latency: Duration::from_millis(10) };
    let class = class(&flow, "ann");
    let Admission::Seated(seat) = flow.request_seats(&class, request(work)) else {
        panic!("there are seats")
    };
    clock.set(Duration::from_millis(5));
    drop(seat);
    let Admission::Queued(mut waiting) = flow.request_seats(&class, request(WorkEstimate::ONE)) else {
        panic!("all seats linger")
    };
    let bell = WakeRecorder::default();
    let waker = bell.waker(1);
    let mut context = Context::from_waker(&waker);
    assert!(Pin::new(&mut waiting).poll(&mut context).is_pending());
    let driver = bell.waker(2);
    assert_eq!(flow.poll_releases(&driver), Some(Duration::from_millis(15)));
    clock.set(Duration::from_millis(15));
    assert_eq!(flow.poll_releases(&driver), None);
    assert_eq!(bell.take_woken(), [1]);
    assert!(Pin::new(&mut waiting).poll(&mut context).is_ready());
}
