//! Tests of the audit events of requests that pass the chain.
#![allow(clippy::unwrap_used)]

use component_base::metrics::MetricsRegistry;
use std::sync::Mutex;

use audit::{AuditMetrics, Event, Policy, Sink};
use authorization::Mode;
use http_body_util::BodyExt;
use jsontree::{Value, json};

use crate::Chain;
use crate::connection::peer::{Peer, Protocol};
use crate::testing::{Script, audited_chain, request};

use super::*;

/// Sink that collects events.
#[derive(Default)]
struct RecordingSink {
    events: Mutex<Vec<Event>>,
    fails: bool,
}

impl Sink for RecordingSink {
    fn process(&self, events: &[Event]) -> bool {
        self.events.lock().unwrap().extend_from_slice(events);
        !self.fails
    }
}

struct World {
    sink: Arc<RecordingSink>,
    registry: MetricsRegistry,
    script: Arc<Script>,
    chain: Arc<Chain>,
    peer: Arc<Peer>,
}

const MASTER: &str = "Authorization: Bearer master";

impl World {
    fn of(policy: &str, mode: Mode, fails: bool) -> Self {
        let sink = Arc::new(RecordingSink { fails, ..RecordingSink::default() });
        let registry = MetricsRegistry::default();
        let metrics = Arc::new(AuditMetrics::new(&registry, &Default::default()));
        let script = Arc::<Script>::default();
        let policy = format!("apiVersion: audit.k8s.io/v1\nkind: Policy\n{policy}\n");
        let (policy, _) = Policy::parse(policy.as_bytes()).unwrap();
        let auditor = Auditor::new(policy, Arc::clone(&sink) as _, metrics);
        let chain = audited_chain(&script, &[mode], auditor);
        let peer = Peer::new("192.0.2.1:1".parse().unwrap(), Protocol::Http1, None);
        World { sink, registry, script, chain, peer }
    }

    fn at(level: &str) -> Self {
        World::of(&format!("rules: [{{level: {level}}}]"), Mode::AlwaysAllow, false)
    }

    /// Sends a request, reads the whole response and returns its code.
    async fn send(&self, line: &str, headers: &[&str], body: &'static str) -> u16 {
        let (method, target) = line.split_once(' ').unwrap();
        let request = request(method, target, headers).map(|_| crate::respond::full(body));
        let response = self.chain.serve(request, &self.peer).await;
        let code = response.status().as_u16();
        let _ = response.into_body().collect().await;
        code
    }

    /// Events so far, as JSON.
    fn events(&self) -> Vec<Value> {
        let events = std::mem::take(&mut *self.sink.events.lock().unwrap());
        let json = |event: &Event| {
            let mut out = Vec::new();
            event.write_json(&mut out);
            serde_json::from_slice(&out).unwrap()
        };
        events.iter().map(json).collect()
    }

    /// Values of the members of each event so far.
    fn event_members(&self, members: &[&str]) -> Value {
        let pick =
            |event: &Value| -> Value { members.iter().map(|name| event.pointer(name).cloned()).collect() };
        self.events().iter().map(pick).collect()
    }
}

#[tokio::test]
async fn request_has_received_and_complete_events() {
    let world = World::at("Metadata");
    let code =
        world.send("GET /api/v1/namespaces/ns/pods/who?pretty=1", &[MASTER, "Audit-Id: mine"], "").await;
    assert_eq!(code, 200);
    let common = json!({
        "kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "Metadata", "auditID": "mine",
        "requestURI": "/api/v1/namespaces/ns/pods/who?pretty=1", "verb": "get",
        "user": {"username": "root", "uid": "1", "groups": ["system:masters", "system:authenticated"]},
        "sourceIPs": ["192.0.2.1"],
        "objectRef": {"resource": "pods", "namespace": "ns", "name": "who", "apiVersion": "v1"},
        "requestReceivedTimestamp": "2027-01-15T08:00:00.000000Z", "stageTimestamp": "2027-01-15T08:00:00.000000Z",
    });
    let event = |members: Value| {
        let mut object = common.clone();
        object.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        object
    };
    let completed = event(json!({
        "stage": "ResponseComplete",
        "responseStatus": {"metadata": {}, "code": 200},
        "annotations": {"authorization.k8s.io/decision": "allow", "authorization.k8s.io/reason": ""},
    }));
    assert_eq!(world.events(), [event(json!({"stage": "RequestReceived"})), completed]);
}

#[tokio::test]
async fn policy_selects_events() {
    let policy = "omitStages: [RequestReceived]\nrules:\n- {level: None, users: [root]}\n- {level: Metadata}";
    let world = World::of(policy, Mode::AlwaysAllow, false);
    world.send("GET /api", &[MASTER], "").await;
    assert_eq!(world.events(), Vec::<Value>::new());
    world.send("GET /api", &["Authorization: Bearer ann"], "").await;
    assert_eq!(world.event_members(&["/stage", "/objectRef"]), json!([["ResponseComplete", null]]));
    let page = world.registry.to_string();
    for line in
        ["level_total{level=\"None\"} 1\n", "level_total{level=\"Metadata\"} 1\n", "audit_event_total 1\n"]
    {
        assert!(page.contains(line), "{line}: {page}");
    }
}

#[tokio::test]
async fn forbidden_request_is_recorded_with_reason() {
    let world = World::of("rules: [{level: Metadata}]", Mode::Rbac, false);
    assert_eq!(world.send("GET /nosuch", &["Authorization: Bearer ann"], "").await, 403);
    let events =
        world.event_members(&["/stage", "/responseStatus/code", "/responseStatus/reason", "/annotations"]);
    let annotations = json!({"authorization.k8s.io/decision": "forbid", "authorization.k8s.io/reason": ""});
    assert_eq!(
        events,
        json!([["RequestReceived", null, null, null], ["ResponseComplete", 403, "Forbidden", annotations]])
    );
}

#[tokio::test]
async fn unauthenticated_request_has_one_event() {
    let world = World::at("Metadata");
    assert_eq!(world.send("GET /api", &["Authorization: Bearer nope"], "").await, 401);
    let events = world.event_members(&["/stage", "/user", "/responseStatus/message", "/responseStatus/code"]);
    assert_eq!(events, json!([["ResponseStarted", {}, "Unauthorized", 401]]));
    assert_eq!(world.send("GET /api?timeout=x", &[MASTER], "").await, 400);
    let events = world.event_members(&["/stage", "/user", "/responseStatus/reason", "/responseStatus/code"]);
    assert_eq!(events, json!([["ResponseStarted", {}, "BadRequest", 400]]));
}

#[tokio::test]
async fn impersonated_user_is_recorded() {
    let world = World::at("Metadata");
    world.send("GET /api", &[MASTER, "Impersonate-User: bob"], "").await;
    let events = world.event_members(&[
        "/stage",
        "/user/username",
        "/impersonatedUser/username",
        "/authenticationMetadata",
    ]);
    let constraint = json!({"impersonationConstraint": "impersonate:user-info"});
    assert_eq!(
        events,
        json!([["RequestReceived", "root", null, null], ["ResponseComplete", "root", "bob", constraint]])
    );
}

#[tokio::test]
async fn level_selects_recorded_objects() {
    let check = async |policy: &str, request: Value, response: Value| {
        let world = World::of(policy, Mode::AlwaysAllow, false);
        world.send("POST /api/v1/namespaces/ns/pods/x/object", &[MASTER], "").await;
        let last = world.events().pop().unwrap();
        assert_eq!(last["objectRef"]["uid"], "u", "{policy}");
        assert_eq!(
            (last["requestObject"].clone(), last["responseObject"].clone()),
            (request, response),
            "{policy}"
        );
    };
    let complete: Value = serde_json::from_str(crate::testing::OBJECT).unwrap();
    let without_managed_fields = json!({"kind": "Pod", "metadata": {"name": "a", "uid": "u"}});
    check("rules: [{level: Metadata}]", Value::Null, Value::Null).await;
    check("rules: [{level: Request}]", complete.clone(), Value::Null).await;
    check("omitManagedFields: true\nrules: [{level: Request}]", without_managed_fields, Value::Null).await;
}

#[tokio::test]
async fn patch_is_recorded_unchanged() {
    let check = async |level: &str, media: &str, body: &'static str, expected: Value| {
        let world = World::at(level);
        let headers = [MASTER, media];
        world.send("PATCH /api/v1/namespaces/ns/pods/x/patch", &headers, body).await;
        assert_eq!(world.events().pop().unwrap()["requestObject"], expected, "{level} {media}");
    };
    let merge = "Content-Type: application/merge-patch+json";
    check("Metadata", merge, r#"{"a": 1}"#, Value::Null).await;
    check("Request", merge, r#"{"a": 1}"#, json!({"a": 1})).await;
    check("Request", "Content-Type: application/apply-patch+yaml", "a: 1", json!({"a": 1})).await;
}

#[tokio::test]
async fn long_running_request_has_response_started_event() {
    let world = World::at("RequestResponse");
    world.send("GET /api/v1/pods?watch=1", &[MASTER], "").await;
    let events = world.event_members(&["/stage", "/responseStatus/code", "/responseObject"]);
    assert_eq!(
        events,
        json!([
            ["RequestReceived", null, null],
            ["ResponseStarted", 200, null],
            ["ResponseComplete", 200, null]
        ])
    );
}

#[tokio::test]
async fn tunnel_completes_when_closed() {
    let world = World::at("Metadata");
    assert_eq!(world.send("GET /api/v1/namespaces/ns/pods/a/proxy/tunnel", &[MASTER], "").await, 101);
    let events = world.event_members(&["/stage", "/responseStatus/code"]);
    assert_eq!(events, json!([["RequestReceived", null], ["ResponseStarted", 101]]));
    world.script.closes.notify_one();
    let completed = async {
        while world.sink.events.lock().unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(crate::testing::PATIENCE, completed).await.unwrap();
    assert_eq!(world.event_members(&["/stage", "/responseStatus/code"]), json!([["ResponseComplete", 101]]));
}

#[tokio::test]
async fn panic_is_recorded() {
    let world = World::at("Metadata");
    assert_eq!(world.send("GET /api/v1/panic", &[MASTER], "").await, 500);
    let events = world.event_members(&["/stage", "/responseStatus/message", "/responseStatus/code"]);
    assert_eq!(
        events,
        json!([["RequestReceived", null, null], ["Panic", "APIServer panic'd: as the path says", 500]])
    );
}

#[tokio::test]
async fn early_disconnect_is_recorded() {
    let world = World::at("Metadata");
    {
        let mut serving = Box::pin(world.chain.serve(request("GET", "/api/v1/hang", &[MASTER]), &world.peer));
        let entered = world.script.entered.notified();
        tokio::select! {
            _ = &mut serving => {}
            () = entered => {}
        }
    }
    let events = world.event_members(&["/stage", "/responseStatus/message", "/responseStatus/code"]);
    assert_eq!(
        events,
        json!([["RequestReceived", null, null], ["ResponseComplete", "Connection closed early", 200]])
    );
}

#[tokio::test]
async fn request_fails_if_audit_fails() {
    let world = World::of("rules: [{level: Metadata}]", Mode::AlwaysAllow, true);
    assert_eq!(world.send("GET /api/v1/who", &[MASTER], "").await, 500);
    assert_eq!(world.script.started.load(std::sync::atomic::Ordering::SeqCst), 0);
    let page = world.registry.to_string();
    assert!(page.contains("apiserver_audit_requests_rejected_total 1\n"), "{page}");
}
