//! The queues compared with a recording of upstream's, and cases that a recording cannot cover.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::request::WorkEstimate;
use crate::schema_metrics::SchemaMetrics;
use crate::shuffle_sharding::Dealer;
use crate::testing::{WakeRecorder, request, wide};

/// Recording of upstream's queue set with random requests: 11 queues, hand size 3, queue length 6, and 2 to
/// 15 seats. Each line has an operation, its time in nanoseconds, the resulting state, and the requests
/// dispatched by it.
const RECORDING: &str = include_str!("testdata/upstream.txt");

fn schema() -> Arc<Schema> {
    let metrics = Arc::<SchemaMetrics>::default();
    Arc::new(Schema { name: "schema".into(), distinguisher: None, metrics })
}

fn queues(queues: u32, hand: u32, length_limit: u32, seats: u32) -> QueueSet {
    let discipline = Discipline::Queue(Dealer::new(queues, hand).unwrap(), length_limit);
    let kinds = Arc::new(RequestCounter::new(Duration::ZERO));
    let mut set = QueueSet::new(discipline, kinds, Duration::ZERO);
    set.set_limit(seats, seats, Duration::ZERO, &mut DeferredWork::default());
    set
}

fn words<const N: usize>(line: &str) -> [u64; N] {
    let numbers: Vec<u64> = line.split(' ').map(|word| word.parse().unwrap()).collect();
    numbers.try_into().unwrap()
}

#[test]
fn dispatch_times_equal_upstreams() {
    let schema = schema();
    let mut set = queues(11, 3, 6, 0);
    let mut waiting = BTreeMap::new();
    let mut keys = BTreeMap::new();
    for line in RECORDING.lines().filter(|line| !line.starts_with('#')) {
        let [op, state, seated] = line.split('|').map(str::trim).collect::<Vec<_>>().try_into().unwrap();
        let (time, op) = op.split_once(' ').unwrap();
        let now = Duration::from_nanos(time.parse().unwrap());
        let after = &mut DeferredWork::default();
        let (verb, arguments) = op.split_once(' ').unwrap_or((op, ""));
        match verb {
            "limit" => set.set_limit(arguments.parse().unwrap(), 1, now, after),
            "tick" => {
                // Upstream's work has a precision of ten seat-nanoseconds, and so have the times derived from
                // it.
                set.release(now + Duration::from_nanos(100), after);
            }
            "leave" => {
                let [id] = words(arguments);
                waiting.remove(&id);
                set.remove(keys.remove(&id).unwrap(), now, after);
            }
            _ => {
                let (arguments, verdict) = arguments.rsplit_once(' ').unwrap();
                let [id, hash, initial, last, latency] = words(arguments);
                let work = WorkEstimate {
                    initial_seats: initial as u32,
                    final_seats: last as u32,
                    additional_latency: Duration::from_nanos(latency),
                };
                let placed = set.request_seats(&schema, hash, request(work), now, after);
                assert_eq!(matches!(placed, SeatResult::Rejected(_)), verdict == "out", "{line}");
                if let SeatResult::Seated(key) | SeatResult::Queued(key) = placed {
                    waiting.insert(id, key);
                    keys.insert(id, key);
                }
            }
        }
        let now_seated: Vec<u64> = waiting
            .extract_if(.., |_, key| set.entries.state(*key) != Some(State::Waiting))
            .map(|(id, _)| id)
            .collect();
        let seated: Vec<u64> = seated.split_whitespace().map(|id| id.parse().unwrap()).collect();
        assert_eq!(now_seated, seated, "{line}");
        let (virtual_time, counts) = state.split_once(' ').unwrap();
        let load = &set.load;
        assert_eq!([load.waiting, load.executing, load.seats_in_use], words(counts), "{line}");
        // Upstream rounds at every step.
        let expected: f64 = virtual_time.trim_end_matches("ss").parse().unwrap();
        assert!((set.virtual_time.as_f64() - expected).abs() < 1e-4, "{line} {}", set.virtual_time);
        set.check();
    }
}

/// Requests seats for the flow `hash`.
fn ask(set: &mut QueueSet, hash: u64, work: WorkEstimate, millis: u64) -> SeatResult {
    set.request_seats(
        &schema(),
        hash,
        request(work),
        Duration::from_millis(millis),
        &mut DeferredWork::default(),
    )
}

fn leave(set: &mut QueueSet, placed: SeatResult, millis: u64) {
    let (SeatResult::Seated(key) | SeatResult::Queued(key)) = placed else { panic!("{placed:?}") };
    set.remove(key, Duration::from_millis(millis), &mut DeferredWork::default());
}

#[test]
fn oversized_request_executes_alone() {
    let mut set = queues(4, 1, 10, 3);
    let first = ask(&mut set, 0, WorkEstimate::ONE, 0);
    let giant = ask(&mut set, 0, wide(50), 1);
    let behind = ask(&mut set, 0, WorkEstimate::ONE, 2);
    assert!(matches!(
        (first, giant, behind),
        (SeatResult::Seated(_), SeatResult::Queued(_), SeatResult::Queued(_))
    ));
    leave(&mut set, first, 3);
    assert_eq!((set.load.executing, set.load.seats_in_use), (1, 50));
    leave(&mut set, giant, 4);
    assert_eq!((set.load.executing, set.load.seats_in_use), (1, 1));
}

#[test]
fn cancelled_request_unblocks_later_ones() {
    let mut set = queues(4, 1, 10, 3);
    ask(&mut set, 0, wide(2), 0);
    let wide = ask(&mut set, 0, wide(3), 1);
    ask(&mut set, 0, WorkEstimate::ONE, 2);
    assert_eq!(set.load.executing, 1, "the wide one is next, and there is one seat");
    leave(&mut set, wide, 3);
    assert_eq!((set.load.executing, set.load.waiting), (2, 0));
}

#[test]
fn full_queue_rejects_without_free_seats() {
    let mut set = queues(1, 1, 2, 1);
    let first = ask(&mut set, 0, WorkEstimate::ONE, 0);
    ask(&mut set, 0, WorkEstimate::ONE, 1);
    ask(&mut set, 0, WorkEstimate::ONE, 2);
    assert_eq!(ask(&mut set, 0, WorkEstimate::ONE, 3), SeatResult::Rejected(Rejection::QueueFull));
    leave(&mut set, first, 4);
    assert!(matches!(ask(&mut set, 0, WorkEstimate::ONE, 5), SeatResult::Queued(_)));
}

#[test]
fn level_without_queues_rejects_when_full() {
    let mut set = queues(1, 1, 1, 2);
    set.set_discipline(Discipline::Reject, Duration::ZERO);
    let first = ask(&mut set, 0, WorkEstimate::ONE, 0);
    assert_eq!(ask(&mut set, 0, wide(2), 1), SeatResult::Rejected(Rejection::ConcurrencyLimit));
    leave(&mut set, first, 2);
    assert!(matches!(ask(&mut set, 0, wide(2), 3), SeatResult::Seated(_)));
}

#[test]
fn exempt_level_never_rejects() {
    let kinds = Arc::new(RequestCounter::new(Duration::ZERO));
    let mut set = QueueSet::new(Discipline::Exempt, kinds, Duration::ZERO);
    for millis in 0..100 {
        assert!(matches!(ask(&mut set, 0, wide(10), millis), SeatResult::Seated(_)));
    }
    assert_eq!(set.take_demand(Duration::from_secs(1), &mut DeferredWork::default()).max, 1_000.0);
}

#[test]
fn requests_in_removed_queues_are_served() {
    let mut set = queues(64, 1, 10, 1);
    let placed: Vec<SeatResult> = (0..64).map(|hash| ask(&mut set, hash, WorkEstimate::ONE, 0)).collect();
    set.set_discipline(Discipline::Queue(Dealer::new(2, 1).unwrap(), 10), Duration::ZERO);
    assert_eq!(set.queue_rows().len(), 64);
    for placed in placed {
        leave(&mut set, placed, 1);
    }
    assert!(set.is_unused());
    set.set_discipline(Discipline::Queue(Dealer::new(2, 1).unwrap(), 10), Duration::ZERO);
    assert_eq!(set.queue_rows().len(), 2);
}

#[test]
fn level_without_seats_waits_for_seats() {
    let mut set = queues(4, 1, 10, 0);
    let SeatResult::Queued(key) = ask(&mut set, 0, WorkEstimate::ONE, 0) else { panic!("no seats") };
    let bell = WakeRecorder::default();
    assert!(set.poll(key, &bell.waker(7)).is_err());
    let mut after = DeferredWork::default();
    set.set_limit(1, 1, Duration::from_millis(30), &mut after);
    after.run_deferred();
    assert_eq!(bell.take_woken(), [7]);
    assert_eq!(set.poll(key, &bell.waker(7)).ok(), Some(Duration::from_millis(30)));
}

#[test]
fn final_seats_are_capped_and_extended() {
    let mut set = queues(4, 1, 10, 4);
    let work =
        WorkEstimate { initial_seats: 1, final_seats: 10, additional_latency: Duration::from_millis(4) };
    let placed = ask(&mut set, 0, work, 0);
    assert_eq!(set.load.seats_in_use, 4);
    leave(&mut set, placed, 5);
    assert_eq!(set.next_due(), Some(Duration::from_millis(15)));
    assert_eq!(set.release(Duration::from_millis(15), &mut DeferredWork::default()), None);
    assert!(set.is_unused() && set.load.seats_waiting == 0 && set.load.seats_in_use == 0);
}
