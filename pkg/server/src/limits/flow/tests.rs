//! Tests of requests in flow control, with a single seat.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::sync::atomic::Ordering::SeqCst;

use flowcontrol::{
    Distinguisher, FlowSchema, LevelKind, PriorityLevel, Queuing, ResourceRule, Response, Rule, Subject,
};
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use futures::{FutureExt, StreamExt};
use http_body_util::BodyExt;
use tokio::time::{advance, timeout};

use super::*;
use crate::chain::SentResponse;
use crate::connection::peer::{Peer, Protocol};
use crate::testing::{NOW, PATIENCE, Script, fair_chain, request};
use crate::{Chain, ChainOptions};

const PODS: &str = "/api/v1/namespaces/a/pods";

/// Priority level with one seat for all authenticated users, with one flow per user and without lending.
fn configuration(queuing: Queuing) -> Configuration {
    let any = || vec!["*".to_owned()];
    let rule = ResourceRule {
        verbs: any(),
        groups: any(),
        resources: any(),
        cluster_scope: true,
        namespaces: any(),
    };
    let schema = FlowSchema {
        name: "everybody".to_owned(),
        uid: "schema-uid".to_owned(),
        level: "narrow".to_owned(),
        precedence: 500,
        distinguisher: Some(Distinguisher::ByUser),
        rules: vec![Rule {
            subjects: vec![Subject::User("*".to_owned())],
            resource_rules: vec![rule],
            non_resource_rules: Vec::new(),
        }],
    };
    let level = PriorityLevel {
        name: "narrow".to_owned(),
        uid: "level-uid".to_owned(),
        shares: 1,
        lendable_percent: 0,
        kind: LevelKind::Limited { borrowing_limit_percent: Some(0), response: Response::Queue(queuing) },
    };
    Configuration::new(vec![schema], vec![level], 2)
}

struct Setup {
    script: Arc<Script>,
    chain: Arc<Chain>,
    peer: Arc<Peer>,
}

/// Creates this many queues of this length. Every flow has two queues.
fn setup(queues: u32, queue_length_limit: u32) -> Setup {
    let queuing = Queuing { queues, hand_size: 2.min(queues), queue_length_limit };
    let now = UnixTime { seconds: NOW, nanos: 0 };
    let fairness = Fairness::new(configuration(queuing), now);
    let script = Arc::new(Script::default());
    let chain = fair_chain(&script, fairness, ChainOptions::default());
    Setup { script, chain, peer: Peer::new("192.0.2.1:1".parse().unwrap(), Protocol::Http1, None) }
}

impl Setup {
    /// Response to a request for `last` below the pods, with a token.
    fn get<'s>(&'s self, token: &str, last: &str) -> BoxFuture<'s, SentResponse> {
        let proof = format!("Authorization: Bearer {token}");
        let request = request("GET", &format!("{PODS}/{last}"), &[&proof]);
        Box::pin(self.chain.serve(request, &self.peer))
    }

    async fn code(&self, token: &str, last: &str) -> u16 {
        self.get(token, last).await.status().as_u16()
    }

    /// Request that holds the seat.
    async fn hold_seat(&self) -> BoxFuture<'_, SentResponse> {
        let mut first = self.get("ann", "wait");
        assert!((&mut first).now_or_never().is_none());
        timeout(PATIENCE, self.script.entered.notified()).await.unwrap();
        first
    }

    /// Request that waits for the seat.
    fn wait_for_seat(&self, token: &str, last: &str) -> BoxFuture<'_, SentResponse> {
        let mut queued = self.get(token, last);
        assert!((&mut queued).now_or_never().is_none(), "it waits");
        queued
    }
}

#[tokio::test(start_paused = true)]
async fn quiet_user_is_served_before_greedy_one() {
    let setup = setup(64, 100);
    let all = FuturesUnordered::new();
    for _ in 0..100 {
        all.push(setup.get("ann", "wait").map(|response| ("ann", response.status().as_u16())).boxed());
    }
    let mut all = all;
    assert!(all.next().now_or_never().is_none());
    all.push(setup.get("bob", "wait").map(|response| ("bob", response.status().as_u16())).boxed());
    let mut before_bob = 0;
    loop {
        advance(Duration::from_millis(10)).await;
        setup.script.release.notify_one();
        match timeout(PATIENCE, all.next()).await.unwrap() {
            Some(("bob", code)) => break assert_eq!(code, 200),
            Some((_, code)) => assert_eq!(code, 200),
            None => panic!("bob was not served"),
        }
        before_bob += 1;
    }
    assert!(before_bob <= 3, "{before_bob} were served before the quiet user");
}

#[tokio::test]
async fn full_queue_returns_retry_after() {
    let setup = setup(1, 1);
    let first = setup.hold_seat().await;
    let second = setup.wait_for_seat("ann", "who");
    let rejected = setup.get("bob", "who").await;
    assert_eq!(rejected.status(), 429);
    let header = |name: &str| rejected.headers()[name].to_str().unwrap();
    assert_eq!(
        [header("retry-after"), header(SCHEMA_UID.as_str()), header(LEVEL_UID.as_str())],
        ["1", "schema-uid", "level-uid"]
    );
    let body = rejected.into_body().collect().await.unwrap().to_bytes();
    assert_eq!(body, "Too many requests, please try again later.\n");
    assert_eq!(setup.chain.metrics().dropped.get(), 1);
    setup.script.release.notify_one();
    let (first, second) = timeout(PATIENCE, async { tokio::join!(first, second) }).await.unwrap();
    assert_eq!([first.status(), second.status()], [200, 200]);
}

#[tokio::test]
async fn disconnect_leaves_queue() {
    let setup = setup(1, 1);
    let first = setup.hold_seat().await;
    let second = setup.wait_for_seat("ann", "who");
    assert_eq!(setup.code("ann", "who").await, 429);
    drop(second);
    let third = setup.wait_for_seat("bob", "who");
    drop(first);
    assert_eq!(timeout(PATIENCE, third).await.unwrap().status(), 200);
}

#[tokio::test(start_paused = true)]
async fn wait_is_limited_to_quarter_of_timeout() {
    let setup = setup(1, 10);
    let _first = setup.hold_seat().await;
    for (target, seconds) in [("who?timeout=8s", 2), ("who", 15), ("?watch=1", 15)] {
        let start = Instant::now();
        assert_eq!(setup.code("bob", target).await, 429, "{target}");
        assert_eq!(start.elapsed(), Duration::from_secs(seconds), "{target}");
    }
}

#[tokio::test]
async fn administrators_do_not_wait() {
    let setup = setup(1, 1);
    let _first = setup.hold_seat().await;
    for _ in 0..10 {
        assert_eq!(setup.code("master", "who").await, 200);
    }
}

#[tokio::test]
async fn watch_holds_seat_until_initial_state() {
    let setup = setup(1, 9);
    let mut watch = setup.get("ann", "watched?watch=1").await;
    assert_eq!(watch.headers()[SCHEMA_UID], "schema-uid");
    let second = setup.wait_for_seat("bob", "who");
    setup.script.release.notify_one();
    let initial = watch.body_mut().frame().await.unwrap().unwrap().into_data().unwrap();
    assert_eq!(initial, "initial");
    assert_eq!(timeout(PATIENCE, second).await.unwrap().status(), 200);
    assert!(watch.body_mut().frame().now_or_never().is_none(), "the watch goes on");
}

#[tokio::test]
async fn long_running_requests_except_watches_need_no_seat() {
    let setup = setup(1, 0);
    let _first = setup.hold_seat().await;
    let log = setup.get("bob", "x/log").await;
    assert_eq!(log.status(), 200);
    assert!(!log.headers().contains_key(SCHEMA_UID));
}

#[tokio::test]
async fn panic_releases_seat() {
    let setup = setup(1, 0);
    for (last, code) in [("panic", 500), ("who", 200), ("panic-body", 200)] {
        assert_eq!(setup.code("ann", last).await, code, "{last}");
    }
    let panicking = setup.get("ann", "panic-body").await;
    assert!(panicking.into_body().collect().await.is_err());
    assert_eq!(setup.code("ann", "who").await, 200);
}

#[tokio::test(start_paused = true)]
async fn unread_response_releases_seat_at_timeout() {
    let setup = setup(1, 9);
    let _unread = setup.get("ann", "endless").await;
    advance(Duration::from_secs(59)).await;
    assert_eq!(setup.code("bob", "who?timeout=2s").await, 429);
    advance(Duration::from_secs(2)).await;
    assert_eq!(setup.code("bob", "who").await, 200);
}

#[tokio::test]
async fn complete_response_holds_no_seat() {
    let setup = setup(1, 0);
    let _unread = setup.get("ann", "who").await;
    assert_eq!(setup.code("bob", "who").await, 200);
    assert_eq!(setup.script.finished.load(SeqCst), 2);
}

#[tokio::test]
async fn dumps_list_executing_and_waiting_requests() {
    let setup = setup(2, 9);
    let _first = setup.hold_seat().await;
    let _second = setup.wait_for_seat("bob", "who");
    let dump = async |page: &str| {
        let target = format!("/debug/api_priority_and_fairness/{page}");
        let request = request("GET", &target, &["Authorization: Bearer master"]);
        let response = setup.chain.serve(request, &setup.peer).await;
        assert_eq!(response.headers()["content-type"], "text/plain; charset=utf-8");
        let body = response.into_body().collect().await.unwrap().to_bytes();
        String::from_utf8(body.to_vec()).unwrap()
    };
    let levels = dump("dump_priority_levels").await;
    assert!(levels.starts_with("PriorityLevelName,"), "{levels}");
    let row = levels.lines().find(|line| line.starts_with("narrow,")).unwrap();
    let cells: Vec<&str> = row.split(',').map(str::trim).collect();
    assert_eq!(cells[1..6], ["1", "false", "false", "1", "1"], "{row}");
    assert_eq!(dump("dump_queues").await.lines().filter(|line| line.starts_with("narrow,")).count(), 2);
    let requests = dump("dump_requests").await;
    assert!(!requests.contains("UserName") && requests.contains("everybody"), "{requests}");
    let requests = dump("dump_requests?includeRequestDetails=1").await;
    assert!(requests.contains("UserName") && requests.contains(&format!("{PODS}/who")), "{requests}");
}
