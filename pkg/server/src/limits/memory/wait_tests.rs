//! Tests of requests that wait for memory.
#![allow(clippy::unwrap_used)]

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use endpoints::routing::dispatch::{Body, BoxError};
use futures::FutureExt;
use futures::future::BoxFuture;
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt;
use tokio::time::advance;

use super::reservation::work_bytes;
use super::tests::{MIB, budget};
use super::waiters::WAITING_MAX;
use super::*;
use crate::respond;

/// Wait limit of the tests.
const WAIT: Duration = Duration::from_secs(10);

type Waiting<'b> = BoxFuture<'b, Option<Reservation>>;

/// Request of a user for memory, polled once.
fn request<'b>(budget: &'b MemoryBudget, user: &'static str, bytes: u64) -> Waiting<'b> {
    let demand = Some(Demand { rank: SheddingRank::Object, bytes, retained_bytes: 1 });
    budget.reserve(demand, user, Instant::now() + WAIT).map(Result::ok).boxed()
}

/// Returns the reservation of a request that must not wait.
fn admitted(budget: &MemoryBudget, bytes: u64) -> Reservation {
    request(budget, "first", bytes).now_or_never().flatten().unwrap()
}

fn is_waiting(request: &mut Waiting<'_>) -> bool {
    request.now_or_never().is_none()
}

fn rejected(budget: &MemoryBudget) -> u64 {
    let [_, _, _, rejected] = budget.usage().unwrap();
    rejected
}

fn reserved(budget: &MemoryBudget) -> u64 {
    let [_, _, reserved, _] = budget.usage().unwrap();
    reserved
}

#[tokio::test(start_paused = true)]
async fn request_waits_for_memory_of_others() {
    let (budget, _) = budget(100 * MIB, 0);
    let first = admitted(&budget, 60 * MIB);
    let mut second = request(&budget, "ann", 40 * MIB);
    assert!(is_waiting(&mut second));
    drop(first);
    let second = second.now_or_never().flatten();
    assert!(second.is_some());
    assert_eq!((reserved(&budget), rejected(&budget)), (40 * MIB, 0));
    drop(second);
    assert_eq!(reserved(&budget), 0);
}

#[tokio::test(start_paused = true)]
async fn wait_for_start_is_bounded() {
    let (budget, _) = budget(100 * MIB, 0);
    let _first = admitted(&budget, 60 * MIB);
    let start = Instant::now();
    assert!(request(&budget, "ann", 40 * MIB).await.is_none());
    assert_eq!((start.elapsed(), rejected(&budget), reserved(&budget)), (MEMORY_START_WAIT_MAX, 1, 60 * MIB));
}

#[tokio::test(start_paused = true)]
async fn memory_of_process_is_not_awaited() {
    let (budget, _) = budget(100 * MIB, 80 * MIB);
    assert!(request(&budget, "ann", 20 * MIB).now_or_never().unwrap().is_none());
    assert_eq!(rejected(&budget), 1);
}

#[tokio::test(start_paused = true)]
async fn waiting_users_get_memory_in_turns() {
    let (budget, _) = budget(100 * MIB, 0);
    let first = admitted(&budget, 90 * MIB);
    let users = ["greedy", "greedy", "greedy", "ann"];
    let mut requests: Vec<_> = users.map(|user| request(&budget, user, 45 * MIB)).into();
    assert!(requests.iter_mut().all(is_waiting));
    drop(first);
    let outcomes: Vec<_> = requests.iter_mut().map(|request| request.now_or_never()).collect();
    assert_eq!(outcomes.iter().map(Option::is_some).collect::<Vec<_>>(), [true, false, false, true]);
}

#[tokio::test(start_paused = true)]
async fn small_requests_overtake_large_ones() {
    let (budget, _) = budget(100 * MIB, 0);
    let _first = admitted(&budget, 60 * MIB);
    let mut large = request(&budget, "ann", 40 * MIB);
    assert!(is_waiting(&mut large));
    assert!(is_waiting(&mut request(&budget, "bob", 2 * REQUEST_BYTES)));
    assert!(request(&budget, "bob", REQUEST_BYTES).now_or_never().flatten().is_some());
}

#[tokio::test(start_paused = true)]
async fn abandoned_wait_returns_granted_memory() {
    let (budget, _) = budget(100 * MIB, 0);
    let first = admitted(&budget, 90 * MIB);
    let mut second = request(&budget, "ann", 90 * MIB);
    let mut third = request(&budget, "bob", 90 * MIB);
    assert!(is_waiting(&mut second) && is_waiting(&mut third));
    drop(first);
    assert_eq!(reserved(&budget), 90 * MIB, "granted to the second");
    drop(second);
    assert!(third.now_or_never().flatten().is_some());
    assert_eq!(reserved(&budget), 0);
}

#[tokio::test(start_paused = true)]
async fn reading_of_meter_grants_memory() {
    let (budget, meter) = budget(100 * MIB, 50 * MIB);
    let _first = admitted(&budget, 40 * MIB);
    let mut second = request(&budget, "ann", 20 * MIB);
    assert!(is_waiting(&mut second));
    meter.0.store(0, Relaxed);
    let weakened = WeakenedDecisions::default();
    let _ = tokio::time::timeout(METER_INTERVAL * 2, budget.poll_meter(&weakened)).await;
    assert!(second.now_or_never().flatten().is_some());
}

#[tokio::test(start_paused = true)]
async fn number_of_waiting_requests_is_bounded() {
    let (budget, _) = budget(100 * MIB, 0);
    let _first = admitted(&budget, 90 * MIB);
    let mut waiting: Vec<_> = (0..WAITING_MAX / 2).map(|_| request(&budget, "ann", MIB)).collect();
    assert!(waiting.iter_mut().all(is_waiting));
    assert!(matches!(request(&budget, "ann", MIB).now_or_never(), Some(None)));
    assert!(is_waiting(&mut request(&budget, "bob", MIB)));
    drop(waiting);
    assert!(is_waiting(&mut request(&budget, "ann", MIB)));
}

#[tokio::test(start_paused = true)]
async fn body_waits_for_memory() {
    let (budget, _) = budget(100 * MIB, 0);
    let reservation = admitted(&budget, 0);
    let others = admitted(&budget, 80 * MIB);
    let body = reservation.reserve_received(respond::full(Bytes::from(vec![0; MIB as usize])));
    let mut read = body.collect().boxed();
    assert!((&mut read).now_or_never().is_none());
    drop(others);
    assert_eq!(read.await.unwrap().to_bytes().len(), MIB as usize);
    assert_eq!(reserved(&budget), MIB);
}

#[tokio::test(start_paused = true)]
async fn body_without_memory_fails_with_429() {
    let (budget, _) = budget(100 * MIB, 0);
    let reservation = admitted(&budget, 0);
    let _others = admitted(&budget, 90 * MIB);
    advance(WAIT / 2).await;
    let body = reservation.reserve_received(respond::full(Bytes::from(vec![0; MIB as usize])));
    let start = Instant::now();
    let error = body.collect().await.unwrap_err();
    assert_eq!(error.to_string(), "Too many requests, please try again later.");
    assert_eq!(start.elapsed(), WAIT / 2, "the wait ends with that of the request");
}

/// Bodies of all users together cannot take the memory that their processing needs.
#[tokio::test(start_paused = true)]
async fn received_bodies_leave_memory_for_processing() {
    let (budget, _) = budget(1000 * MIB, 0);
    let demand = Some(Demand { rank: SheddingRank::Vital, bytes: 0, retained_bytes: 0 });
    let mut uploads = Vec::new();
    loop {
        let reservation = budget.reserve(demand, "root", Instant::now() + WAIT).await.unwrap();
        let body = reservation.reserve_received(respond::full(Bytes::from(vec![0; 3 * MIB as usize])));
        let Some(body) = body.collect().now_or_never() else { break };
        uploads.push((reservation, body.unwrap()));
    }
    assert!(reserved(&budget) > 790 * MIB);
    assert!(request(&budget, "ann", 90 * MIB).now_or_never().flatten().is_some(), "other requests");
    for (reservation, body) in uploads {
        let bytes = body.to_bytes().len() as u64;
        assert_eq!(reservation.reserve_processing(bytes).now_or_never(), Some(Ok(())));
        assert!(reserved(&budget) >= work_bytes(3 * MIB));
    }
    assert_eq!((reserved(&budget), rejected(&budget)), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn one_body_is_processed_in_full_memory() {
    let (budget, meter) = budget(100 * MIB, 0);
    let mut requests: Vec<_> = (0..2).map(|_| admitted(&budget, 45 * MIB)).collect();
    meter.0.store(95 * MIB, Relaxed);
    let weakened = WeakenedDecisions::default();
    let _ = tokio::time::timeout(METER_INTERVAL * 2, budget.poll_meter(&weakened)).await;
    let second = requests.pop().unwrap();
    let first = requests.pop().unwrap();
    let object_bytes = 4 * MIB / work_bytes(1);
    assert_eq!(first.reserve_processing(object_bytes).now_or_never(), Some(Ok(())));
    let mut waiting = second.reserve_processing(object_bytes).boxed();
    assert!((&mut waiting).now_or_never().is_none());
    drop(first);
    assert_eq!(waiting.now_or_never(), Some(Ok(())));
}

#[tokio::test(start_paused = true)]
async fn wait_ends_when_client_disconnects() {
    let (budget, _) = budget(100 * MIB, 0);
    let first = admitted(&budget, 90 * MIB);
    let second = admitted(&budget, 0);
    let object_bytes = 4 * MIB / work_bytes(1);
    assert_eq!(first.reserve_processing(object_bytes).now_or_never(), Some(Ok(())));
    let client = second.wait_guard();
    let mut waiting = second.reserve_processing(object_bytes).boxed();
    assert!((&mut waiting).now_or_never().is_none());
    drop(client);
    assert_eq!(waiting.now_or_never(), Some(Err(Overloaded)));
    assert_eq!(budget.0.as_ref().unwrap().waiting.len(), 0);
}

/// Body of two frames with an announced length.
fn frames(length: u64) -> Body {
    let frame = Bytes::from(vec![0; length as usize / 2]);
    let frames = [frame.clone(), frame].map(|frame| Ok::<_, BoxError>(Frame::data(frame)));
    let sized = http_body_util::StreamBody::new(futures::stream::iter(frames));
    SizedBody { body: sized.boxed_unsync(), length }.boxed_unsync()
}

struct SizedBody {
    body: Body,
    length: u64,
}

impl http_body::Body for SizedBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.length)
    }
}

#[tokio::test(start_paused = true)]
async fn half_received_bodies_do_not_wait_for_each_other() {
    let (budget, _) = budget(2 * MIB, 0);
    let reservations = [admitted(&budget, 0), admitted(&budget, 0)];
    let [first, second] = reservations.each_ref().map(|r| r.reserve_received(frames(MIB)));
    let mut first = Box::pin(first);
    let mut second = Box::pin(second);
    assert!(first.frame().now_or_never().is_some());
    assert!(second.frame().now_or_never().is_none(), "nothing of it is held");
    assert!(first.frame().now_or_never().is_some());
    let [first_reservation, _second_reservation] = reservations;
    drop((first, first_reservation));
    assert!(second.collect().now_or_never().unwrap().is_ok());
}

#[tokio::test(start_paused = true)]
async fn half_read_body_does_not_stop_processing() {
    let (budget, meter) = budget(100 * MIB, 0);
    let stalled = admitted(&budget, 0);
    let mut stalled_body = Box::pin(stalled.reserve_while_read(frames(8 << 10)));
    assert!(stalled_body.frame().now_or_never().is_some());
    meter.0.store(97 * MIB, Relaxed);
    let weakened = WeakenedDecisions::default();
    let _ = tokio::time::timeout(METER_INTERVAL * 2, budget.poll_meter(&weakened)).await;
    let processed = ReservedBytes::new(
        Arc::clone(budget.0.as_ref().unwrap()),
        SheddingRank::Object,
        "bob",
        Instant::now() + WAIT,
    );
    let processed = Reservation::from(processed);
    assert_eq!(processed.reserve_processing(MIB / work_bytes(1)).now_or_never(), Some(Ok(())));
}
