//! Requests of all widths arrive, wait, execute, cancel at any time and hold final seats, while the
//! configuration changes. No seat leaks, and no request is forgotten.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use apimachinery::time::UnixTime;

use crate::clock::Monotonic;
use crate::config::Configuration;
use crate::control::FlowControl;
use crate::level::{Admission, Level, QueuedRequest, SeatGuard};
use crate::request::WorkEstimate;
use crate::testing::{ManualClock, Rng, WakeRecorder, class, level, queuing, request, schema};

/// Requests per run; an environment variable raises it.
const REQUESTS: u64 = 100_000;
const REQUESTS_VARIABLE: &str = "FLOWCONTROL_SIMULATED_REQUESTS";
/// Requests leave after waiting this long.
const PATIENCE: Duration = Duration::from_secs(20);
const USERS: [&str; 12] = [
    "queued0", "queued1", "queued2", "queued3", "queued4", "queued5", "other0", "other1", "other2", "strict",
    "x", "y",
];

/// Scheduled event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Arrival,
    /// A request finishes, or its wait times out.
    Leave(u64),
    Adjustment,
    Reconfiguration,
    Release,
    /// Metrics and dumps are read.
    Scrape,
}

/// State of a request.
enum Held {
    Waiting(QueuedRequest),
    Served(#[allow(dead_code, reason = "it is held")] SeatGuard),
}

struct Simulation {
    rng: Rng,
    clock: Arc<ManualClock>,
    flow: FlowControl,
    bell: WakeRecorder,
    events: BinaryHeap<Reverse<(Duration, Event)>>,
    now: Duration,
    held: BTreeMap<u64, (Arc<Level>, Held)>,
    /// All levels used so far, by address, with the number of requests held at each.
    count: BTreeMap<usize, (Arc<Level>, u64)>,
    arrived: u64,
    served: u64,
    rejected: u64,
    hung_up: u64,
}

fn configuration(variant: u64) -> Configuration {
    let queues = [8, 3, 16, 1][(variant % 4) as usize];
    let mut levels = vec![
        level("queued", 30, queuing(queues, queues.min(3), 12)),
        level("other", 10 + (variant % 3) as u32 * 10, queuing(5, 2, 30)),
        level("strict", 10, None),
    ];
    if variant % 5 == 3 {
        // Its requests go to another level, and the present ones drain.
        levels.remove(1);
    }
    if variant % 7 == 6 {
        levels[0] = level("queued", 30, None);
    }
    let schemas = vec![
        schema("queued", "queued", 10, &USERS[..6]),
        schema("other", "other", 20, &USERS[6..9]),
        schema("strict", "strict", 30, &["strict"]),
    ];
    Configuration::new(schemas, levels, 40 + (variant % 6) as u32 * 20)
}

impl Simulation {
    fn new(seed: u64) -> Self {
        let clock = Arc::<ManualClock>::default();
        let flow = FlowControl::new(configuration(0), Arc::clone(&clock) as Arc<dyn Monotonic>);
        let mut events = BinaryHeap::new();
        events.push(Reverse((Duration::ZERO, Event::Arrival)));
        events.push(Reverse((FlowControl::ADJUSTMENT_PERIOD, Event::Adjustment)));
        events.push(Reverse((Duration::from_secs(3), Event::Reconfiguration)));
        events.push(Reverse((Duration::ZERO, Event::Scrape)));
        Simulation {
            rng: Rng(seed),
            clock,
            flow,
            bell: WakeRecorder::default(),
            events,
            now: Duration::ZERO,
            held: BTreeMap::new(),
            count: BTreeMap::new(),
            arrived: 0,
            served: 0,
            rejected: 0,
            hung_up: 0,
        }
    }

    fn run(&mut self, requests: u64) {
        while let Some(Reverse((at, event))) = self.events.pop() {
            self.now = self.now.max(at);
            self.clock.set(self.now);
            match event {
                Event::Arrival if self.arrived < requests => self.arrive(),
                Event::Arrival => {}
                Event::Leave(id) => self.leave(id),
                Event::Adjustment => self.adjust(requests),
                Event::Reconfiguration if self.arrived < requests => self.reconfigure(),
                Event::Reconfiguration => {}
                Event::Release => self.release(),
                Event::Scrape => self.scrape(requests),
            }
            self.answer_the_bell();
            self.check_counts();
        }
    }

    fn later(&mut self, micros: u64, event: Event) {
        self.events.push(Reverse((self.now + Duration::from_micros(micros), event)));
    }

    fn arrive(&mut self) {
        // Bursts and lulls, so that all queues are empty at times, and full at others.
        let busy = (self.now.as_secs() / 2).is_multiple_of(3);
        let gap = self.rng.below(if busy { 300 } else { 4_000 });
        self.later(gap, Event::Arrival);
        let id = self.arrived;
        self.arrived += 1;
        let user = USERS[self.rng.below(USERS.len() as u64) as usize];
        let class = class(&self.flow, user);
        let work = self.work();
        match self.flow.request_seats(&class, request(work)) {
            Admission::Rejected(_) => self.rejected += 1,
            Admission::Seated(seat) => self.serve(id, &class.route.level, seat),
            Admission::Queued(waiting) => {
                self.count(&class.route.level).1 += 1;
                self.held.insert(id, (Arc::clone(&class.route.level), Held::Waiting(waiting)));
                // A few requests cancel before their first poll, with or without a seat.
                let looks = !self.rng.one_in(50);
                if looks {
                    self.poll(id);
                }
                let patience = match self.rng.below(10) {
                    1.. if looks => u64::try_from(PATIENCE.as_micros()).unwrap(),
                    _ => self.rng.below(40_000),
                };
                self.later(patience, Event::Leave(id));
            }
        }
    }

    fn work(&mut self) -> WorkEstimate {
        let mut work = WorkEstimate::ONE;
        match self.rng.below(20) {
            0 if self.rng.one_in(20) => work.initial_seats = 100,
            1..4 => work.initial_seats = 1 + self.rng.below(10) as u32,
            4 => work.initial_seats = 0,
            5..9 => {
                work.final_seats = 1 + self.rng.below(12) as u32;
                work.additional_latency = Duration::from_micros(self.rng.below(20_000));
            }
            _ => {}
        }
        work
    }

    fn count(&mut self, level: &Arc<Level>) -> &mut (Arc<Level>, u64) {
        self.count.entry(Arc::as_ptr(level).addr()).or_insert_with(|| (Arc::clone(level), 0))
    }

    fn serve(&mut self, id: u64, level: &Arc<Level>, seat: SeatGuard) {
        self.served += 1;
        self.count(level).1 += 1;
        self.held.insert(id, (Arc::clone(level), Held::Served(seat)));
        let duration = self.rng.below(20_000);
        self.later(duration, Event::Leave(id));
    }

    fn poll(&mut self, id: u64) {
        let Some((level, Held::Waiting(waiting))) = self.held.get_mut(&id) else { return };
        let level = Arc::clone(level);
        let waker = self.bell.waker(id);
        if let Poll::Ready(seat) = Pin::new(waiting).poll(&mut Context::from_waker(&waker)) {
            assert!(seat.queue_time() <= PATIENCE, "{:?}", seat.queue_time());
            self.held.remove(&id);
            self.count(&level).1 -= 1;
            self.serve(id, &level, seat);
        }
    }

    /// Polls the woken requests; a few of them cancel at that moment.
    fn answer_the_bell(&mut self) {
        for id in self.bell.take_woken() {
            match self.rng.one_in(30) {
                true => self.leave(id),
                false if id == u64::MAX => self.release(),
                false => self.poll(id),
            }
        }
    }

    fn leave(&mut self, id: u64) {
        // The request has its own end if it got a seat after its timeout was scheduled. The first of the two
        // events ends it.
        let Some((level, held)) = self.held.remove(&id) else { return };
        self.count(&level).1 -= 1;
        self.hung_up += u64::from(matches!(held, Held::Waiting(_)));
        drop(held);
    }

    fn adjust(&mut self, requests: u64) {
        self.flow.adjust();
        if self.arrived < requests || !self.held.is_empty() {
            self.later(10_000_000, Event::Adjustment);
        }
    }

    fn reconfigure(&mut self) {
        self.count.retain(|_, (level, held)| *held > 0 || !level.lock().is_unused());
        let variant = self.rng.next();
        self.flow.configure(configuration(variant));
        let until = 100_000 + self.rng.below(3_000_000);
        self.later(until, Event::Reconfiguration);
    }

    fn scrape(&mut self, requests: u64) {
        let mut page = crate::testing::metrics_page(&self.flow);
        page += &self.flow.dump_requests(true, UnixTime::default());
        page += &self.flow.dump_queues();
        assert!(page.contains("apiserver_flowcontrol_current_limit_seats{priority_level=\"exempt\"}"));
        self.count.values().for_each(|(level, _)| level.lock().check());
        if self.arrived < requests {
            let until = self.rng.below(800_000);
            self.later(until, Event::Scrape);
        }
    }

    /// Releases final seats, at times a little late.
    fn release(&mut self) {
        if let Some(due) = self.flow.poll_releases(&self.bell.waker(u64::MAX)) {
            let late = if self.rng.one_in(5) { self.rng.below(3_000) } else { 0 };
            let wait = due.saturating_sub(self.now).as_micros() as u64 + 1 + late;
            self.later(wait, Event::Release);
        }
    }

    /// Asserts that the levels' counts match the held requests.
    fn check_counts(&self) {
        for (level, held) in self.count.values() {
            let summary = level.lock().summary();
            assert_eq!(summary.waiting + summary.executing, *held, "{level:?}: {summary:?}");
        }
    }
}

#[test]
fn random_run_loses_no_seat_or_request() {
    let requests = std::env::var(REQUESTS_VARIABLE).map_or(REQUESTS, |text| text.parse().unwrap());
    let mut life = Simulation::new(0x5eed);
    life.release();
    life.run(requests);
    assert!(life.held.is_empty());
    for (level, held) in life.count.values() {
        let mut set = level.lock();
        set.release(life.now + Duration::from_secs(3_600), &mut crate::queue_set::DeferredWork::default());
        set.check();
        assert_eq!((*held, set.summary().seats_in_use, set.summary().seats_waiting), (0, 0, 0), "{level:?}");
        assert!(set.is_unused(), "{level:?}");
    }
    // The run covered all cases.
    assert_eq!(life.arrived, requests);
    let served = life.served;
    let rejected = life.rejected;
    let hung_up = life.hung_up;
    let often = served > requests / 2 && rejected > requests / 100 && hung_up > requests / 100;
    assert!(often, "{served} served, {rejected} rejected, {hung_up} hung up, of {requests}");
}
