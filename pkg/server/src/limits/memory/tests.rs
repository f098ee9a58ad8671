//! Tests of the memory budget, and of the reservations of a request over time.
#![allow(clippy::unwrap_used)]

use apimachinery::query::Query;
use apimachinery::request_info::{RequestInfo, request_info};
use apimachinery::time::UnixTime;
use async_trait::async_trait;
use authorization::Mode;
use bytes::Bytes;
use endpoints::cpu_pool::POOL_WRITE_BYTES_MIN;
use endpoints::routing::dispatch::BoxError;
use futures::channel::mpsc;
use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use tokio::time::{advance, timeout};

use super::*;
use crate::chain::SentResponse;
use crate::connection::peer::{Peer, Protocol};
use crate::testing::{NOW, PATIENCE, Script, chain, fair_chain, request};
use crate::{Chain, ChainOptions, Fairness, respond};

pub(super) const MIB: u64 = 1 << 20;
const PODS: &str = "/api/v1/namespaces/a/pods";
const MASTER: &str = "Authorization: Bearer master";
const ANN: &str = "Authorization: Bearer ann";

pub(super) struct FixedMeter(pub(super) AtomicU64);

impl Meter for FixedMeter {
    fn bytes(&self) -> Option<u64> {
        Some(self.0.load(Relaxed))
    }
}

pub(super) fn budget(limit: u64, used: u64) -> (MemoryBudget, Arc<FixedMeter>) {
    let meter = Arc::new(FixedMeter(AtomicU64::new(used)));
    (MemoryBudget::new(limit, meter.clone()), meter)
}

/// API without handlers, that reports a thousand objects of 4 KiB.
struct ThousandObjects;

#[async_trait]
impl Dispatch for ThousandObjects {
    async fn dispatch(
        &self,
        _: endpoints::routing::dispatch::Request,
    ) -> endpoints::routing::dispatch::Response {
        respond::not_found()
    }

    fn stored_bytes(&self, _: &RequestInfo) -> usize {
        0
    }

    fn extent(&self, _: &RequestInfo) -> Option<Extent> {
        Some(Extent { objects: 1000, bytes: 4 << 20, stored: false })
    }
}

fn check(method: &str, uri: &str, headers: &[&str], expected: Option<(SheddingRank, u64)>) {
    let parts = request(method, uri, headers).into_parts().0;
    let query = Query::parse(parts.uri.query().unwrap_or_default());
    let info = request_info(parts.method.as_str(), parts.uri.path(), &query).unwrap();
    let context = RequestContext { info, query, ..RequestContext::default() };
    for exempt in [false, true] {
        let demand =
            Demand::of(&parts, &context, exempt, &ThousandObjects).map(|demand| (demand.rank, demand.bytes));
        let expected = expected.map(|(rank, bytes)| (if exempt { rank.above() } else { rank }, bytes));
        assert_eq!(demand, expected, "{method} {uri} {exempt}");
    }
}

#[test]
fn requests_are_ranked_for_load_shedding() {
    check("GET", "/readyz", &[], None);
    check("GET", "/metrics", &[], None);
    check("GET", PODS, &[], Some((SheddingRank::Bulk, LIST_BYTES)));
    let yaml = ["Accept: application/yaml"];
    check("GET", PODS, &yaml, Some((SheddingRank::Bulk, LIST_BYTES + 32 * MIB)));
    check("GET", &format!("{PODS}/b"), &yaml, Some((SheddingRank::Object, REQUEST_BYTES)));
    check("GET", &format!("{PODS}?limit=500"), &[], Some((SheddingRank::Bulk, REQUEST_BYTES)));
    check("GET", &format!("{PODS}?watch=1"), &[], Some((SheddingRank::Bulk, REQUEST_BYTES)));
    let long_header = format!("X-Forwarded-For: {}", "x".repeat(MIB as usize));
    let head = (PODS.len() + "?watch=1".len() + "x-forwarded-for".len()) as u64 + MIB;
    let bytes = REQUEST_BYTES + HEAD_FACTOR * (head - HEAD_BYTES);
    check("GET", &format!("{PODS}?watch=1"), &[&long_header], Some((SheddingRank::Bulk, bytes)));
    check("GET", &format!("{PODS}/b"), &[], Some((SheddingRank::Object, REQUEST_BYTES)));
    check("POST", PODS, &["Content-Length: 1000"], Some((SheddingRank::Object, REQUEST_BYTES)));
    check(
        "POST",
        PODS,
        &["Content-Length: 18446744073709551615"],
        Some((SheddingRank::Object, REQUEST_BYTES)),
    );
    check("DELETE", &format!("{PODS}/b"), &["Content-Length: 2"], Some((SheddingRank::Vital, REQUEST_BYTES)));
    check("PUT", &format!("{PODS}/b"), &["Content-Length: 500"], Some((SheddingRank::Vital, REQUEST_BYTES)));
    check(
        "PUT",
        &format!("{PODS}/b"),
        &["Content-Length: 5000"],
        Some((SheddingRank::Object, REQUEST_BYTES)),
    );
    check("PUT", &format!("{PODS}/b"), &[], Some((SheddingRank::Object, REQUEST_BYTES)));
}

#[test]
fn vital_requests_are_rejected_last() {
    let (budget, _) = budget(100 * MIB, 79 * MIB);
    let check = |rank, bytes, expected: bool| {
        assert_eq!(reserve(&budget, rank, bytes).is_some(), expected, "{rank:?} {bytes}");
    };
    check(SheddingRank::Bulk, MIB, true);
    check(SheddingRank::Bulk, MIB + 1, false);
    check(SheddingRank::Object, 11 * MIB, true);
    check(SheddingRank::Object, 11 * MIB + 1, false);
    check(SheddingRank::Vital, 18 * MIB, true);
    assert!(budget.reserve(None, "ann", Instant::now()).now_or_never().unwrap().is_ok());
    let registry = MetricsRegistry::default();
    budget.register(&registry);
    let page = registry.to_string();
    assert!(page.contains("mainstay_memory_rejected_requests_total{rank=\"bulk\"} 1\n"), "{page}");
    assert!(page.contains("mainstay_memory_reserved_bytes 0\n"), "{page}");
}

/// Reserves memory if no wait is necessary.
fn reserve(budget: &MemoryBudget, rank: SheddingRank, bytes: u64) -> Option<Reservation> {
    let demand = Demand { rank, bytes, retained_bytes: 0 };
    budget.reserve(Some(demand), "ann", Instant::now()).now_or_never()?.ok()
}

#[tokio::test(start_paused = true)]
async fn process_memory_counts() {
    let (budget, meter) = budget(100 * MIB, 0);
    let weakened = WeakenedDecisions::default();
    let is_reserved = || reserve(&budget, SheddingRank::Bulk, MIB).is_some();
    meter.0.store(80 * MIB, Relaxed);
    assert!(is_reserved(), "the meter has not been read yet");
    let _ = timeout(METER_INTERVAL * 2, budget.poll_meter(&weakened)).await;
    assert!(!is_reserved());
    meter.0.store(0, Relaxed);
    let _ = timeout(METER_INTERVAL * 2, budget.poll_meter(&weakened)).await;
    assert!(is_reserved());
}

/// Meter that cannot be read.
struct BrokenMeter;

impl Meter for BrokenMeter {
    fn bytes(&self) -> Option<u64> {
        None
    }
}

#[tokio::test(start_paused = true)]
async fn unknown_memory_use_is_weakened_decision() {
    let weakened = WeakenedDecisions::default();
    let budget = MemoryBudget::new(MIB, Arc::new(BrokenMeter));
    let _ = timeout(METER_INTERVAL / 2, budget.poll_meter(&weakened)).await;
    assert_eq!(weakened.count(WeakenedKind::UnknownMemoryUse), 1);
}

#[test]
fn unlimited_budget_admits_everything() {
    assert!(reserve(&MemoryBudget::default(), SheddingRank::Bulk, u64::MAX).is_some());
}

/// Chain of a server with a limit of 100 MiB.
struct Setup {
    script: Arc<Script>,
    chain: Arc<Chain>,
    peer: Arc<Peer>,
    budget: MemoryBudget,
}

impl Setup {
    fn new(used: u64, chain: impl FnOnce(&Arc<Script>, ChainOptions) -> Arc<Chain>) -> Self {
        let (budget, _) = budget(100 * MIB, used);
        let script = Arc::new(Script::default());
        let chain = chain(&script, ChainOptions { memory: budget.clone(), ..ChainOptions::default() });
        Setup {
            script,
            chain,
            peer: Peer::new("192.0.2.1:1".parse().unwrap(), Protocol::Http1, None),
            budget,
        }
    }

    /// Sets the memory that is already in use, in MiB.
    fn with(modes: &[Mode], used: u64) -> Self {
        Setup::new(used * MIB, |script, options| chain(script, modes, options))
    }

    fn send<'s>(
        &'s self,
        request: http::Request<endpoints::routing::dispatch::Body>,
    ) -> BoxFuture<'s, SentResponse> {
        Box::pin(self.chain.serve(request, &self.peer))
    }

    fn get<'s>(&'s self, last: &str, proof: &str) -> BoxFuture<'s, SentResponse> {
        self.send(request("GET", &format!("{PODS}{last}"), &[proof]))
    }

    fn reserved(&self) -> u64 {
        self.budget.0.as_ref().unwrap().reserved.load(Relaxed)
    }
}

#[tokio::test]
async fn unauthorized_requests_reserve_no_memory() {
    let setup = Setup::with(&[Mode::Rbac], 99);
    assert_eq!(setup.get("", "Authorization: Bearer nobody").await.status(), 401);
    assert_eq!(setup.get("", ANN).await.status(), 403);
    assert_eq!(setup.get("", MASTER).await.status(), 429);
    assert_eq!(setup.reserved(), 0);
}

#[tokio::test]
async fn rejection_has_retry_after() {
    let setup = Setup::with(&[Mode::AlwaysAllow], 85);
    let rejected = setup.get("", ANN).await;
    assert_eq!(rejected.status(), 429);
    assert_eq!(rejected.headers()["retry-after"], "1");
    assert_eq!(setup.get("/who", ANN).await.status(), 200);
    assert_eq!(setup.send(request("GET", "/livez", &[])).await.status(), 200);
}

#[tokio::test]
async fn exempt_requests_are_rejected_later() {
    let fairness = || {
        let now = UnixTime { seconds: NOW, nanos: 0 };
        Fairness::new(flowcontrol::Configuration::mandatory(600), now)
    };
    for (used, expected) in [(75, [200, 200]), (85, [429, 200]), (91, [429, 429])] {
        let setup = Setup::new(used * MIB, |script, options| fair_chain(script, fairness(), options));
        let codes =
            [setup.get("", ANN).await.status().as_u16(), setup.get("", MASTER).await.status().as_u16()];
        assert_eq!(codes, expected, "{used}");
    }
}

#[tokio::test]
async fn request_without_seat_reserves_nothing() {
    let now = UnixTime { seconds: NOW, nanos: 0 };
    // One seat for requests that match no schema, and no queue.
    let fairness = Fairness::new(flowcontrol::Configuration::mandatory(1), now);
    let setup = Setup::new(0, |script, options| fair_chain(script, fairness, options));
    let mut first = setup.get("/wait", ANN);
    assert!((&mut first).now_or_never().is_none());
    assert_eq!(setup.reserved(), REQUEST_BYTES);
    assert_eq!(setup.get("/who", ANN).await.status(), 429);
    assert_eq!(setup.reserved(), REQUEST_BYTES);
    drop(first);
    assert_eq!(setup.reserved(), 0);
}

#[tokio::test]
async fn complete_response_releases_reservation() {
    let setup = Setup::with(&[Mode::AlwaysAllow], 0);
    let _unread = setup.get("/who", ANN).await;
    assert_eq!(setup.reserved(), 0);
}

#[tokio::test(start_paused = true)]
async fn unread_list_releases_reservation_at_timeout() {
    let setup = Setup::with(&[Mode::AlwaysAllow], 0);
    let _unread = setup.get("/endless", ANN).await;
    assert_eq!(setup.reserved(), REQUEST_BYTES);
    advance(Duration::from_secs(61)).await;
    tokio::task::yield_now().await;
    assert_eq!(setup.reserved(), 0);
}

#[tokio::test]
async fn watch_reserves_memory_until_initial_state() {
    let setup = Setup::with(&[Mode::AlwaysAllow], 0);
    let mut watch = setup.get("/watched?watch=1", ANN).await;
    assert_eq!(setup.reserved(), REQUEST_BYTES);
    setup.script.release.notify_one();
    assert_eq!(watch.body_mut().frame().await.unwrap().unwrap().into_data().unwrap(), "initial");
    assert_eq!(setup.reserved(), 0);
}

#[tokio::test]
async fn abandoned_write_keeps_reservation() {
    let setup = Setup::with(&[Mode::AlwaysAllow], 0);
    let mut write = setup.send(request("POST", &format!("{PODS}/wait"), &[ANN]));
    tokio::select! {
        _ = &mut write => unreachable!("the write waits"),
        () = setup.script.entered.notified() => {}
    }
    drop(write);
    assert_eq!(setup.reserved(), REQUEST_BYTES);
    setup.script.release.notify_one();
    timeout(PATIENCE, setup.chain.wait_for_writes()).await.unwrap();
    assert_eq!(setup.reserved(), 0);
}

#[tokio::test]
async fn abandoned_write_does_not_wait_for_memory() {
    let setup = Setup::with(&[Mode::AlwaysAllow], 0);
    let others = reserve(&setup.budget, SheddingRank::Vital, 97 * MIB - 4 * REQUEST_BYTES).unwrap();
    assert_eq!(others.reserve_processing(1).await, Ok(()));
    let before = setup.reserved();
    // Its processing needs more than the rest, because of the stored object.
    let mut write = setup.send(request("PUT", &format!("{PODS}/large"), &[ANN, "Content-Length: 0"]));
    while setup.budget.0.as_ref().unwrap().waiting.len() == 0 {
        assert!((&mut write).now_or_never().is_none());
        tokio::task::yield_now().await;
    }
    drop(write);
    timeout(PATIENCE / 3, setup.chain.wait_for_writes()).await.unwrap();
    assert_eq!((setup.reserved(), setup.script.started.load(SeqCst)), (before, 0));
}

/// Write whose body arrives as the test sends it, announced at the maximum length.
fn upload() -> (mpsc::UnboundedSender<Bytes>, http::Request<endpoints::routing::dispatch::Body>) {
    let (sender, pieces) = mpsc::unbounded();
    let pieces = pieces.map(|piece| Ok::<_, BoxError>(Frame::data(piece)));
    let length = format!("Content-Length: {BODY_BYTES_MAX}");
    let request = request("POST", &format!("{PODS}/echo"), &[ANN, &length]);
    (sender, request.map(|_| StreamBody::new(pieces).boxed_unsync()))
}

#[tokio::test]
async fn body_reserves_more_while_handled() {
    let setup = Setup::with(&[Mode::AlwaysAllow], 0);
    let (pieces, request) = upload();
    let mut write = setup.send(request);
    assert!((&mut write).now_or_never().is_none());
    assert_eq!(setup.reserved(), REQUEST_BYTES, "an announced length reserves nothing");
    pieces.unbounded_send(Bytes::from(vec![0; 1000])).unwrap();
    assert!((&mut write).now_or_never().is_none());
    assert_eq!(setup.reserved(), REQUEST_BYTES + 1000);
    pieces.unbounded_send(Bytes::from(vec![0; 7 * MIB as usize])).unwrap();
    drop(pieces);
    let response = timeout(PATIENCE, write).await.unwrap();
    assert_eq!(response.status(), 429, "16 times 7 MiB are too many");
    let body = response.into_body().collect().await.unwrap().to_bytes();
    assert_eq!(body, "Too many requests, please try again later.\n");
    assert_eq!(setup.reserved(), 0);
}

#[tokio::test]
async fn admitted_body_is_complete() {
    let setup = Setup::with(&[Mode::AlwaysAllow], 0);
    for bytes in [1000, 2 * POOL_WRITE_BYTES_MIN] {
        let body = "x".repeat(bytes);
        let request = request("POST", &format!("{PODS}/echo"), &[ANN]);
        let response = setup.send(request.map(|_| respond::full(body.clone()))).await;
        assert_eq!(response.into_body().collect().await.unwrap().to_bytes(), body);
        assert_eq!(setup.reserved(), 0);
    }
}
