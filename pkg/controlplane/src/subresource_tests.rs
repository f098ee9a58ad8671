//! Tests of subresources with behavior of their own, with a complete server.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod claims;
mod conversion;
mod custom;
mod definitions;
mod kubelet;
mod roles;
mod uids;
mod walk;

use jsontree::{Value, json};

use crate::test_client::Client;
use crate::test_cluster::TestServer;
use kubelet::Kubelet;

const PODS: &str = "/api/v1/namespaces/default/pods";
const BUDGETS: &str = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";

async fn started() -> (TestServer, Client) {
    let server = TestServer::start().await.unwrap();
    let client = Client::of(&server);
    (server, client)
}

async fn pod(client: &Client, name: &str, status: Value) {
    let pod = json!({
        "metadata": {"name": name, "labels": {"app": "a"}},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    });
    client.make(PODS, pod).await;
    if !status.is_null() {
        client.ok("PATCH", &format!("{PODS}/{name}/status"), json!({"status": status})).await;
    }
}

async fn bind(client: &Client, pod: &str, node: &str) {
    let binding = json!({"metadata": {"name": pod}, "target": {"kind": "Node", "name": node}});
    let (code, status) = client.send("POST", &format!("{PODS}/{pod}/binding"), binding).await;
    assert_eq!((code, &status["status"], &status["code"]), (201, &json!("Success"), &json!(201)), "{status}");
}

#[tokio::test]
async fn invalid_node_name_fails_validation() {
    let (server, client) = started().await;
    let spec = json!({"nodeName": "a/b", "containers": [{"name": "c", "image": "i"}]});
    let (code, status) = client.send("POST", PODS, json!({"metadata": {"name": "p"}, "spec": spec})).await;
    assert_eq!((code, &status["details"]["causes"][0]["field"]), (422, &json!("spec.nodeName")));
    server.stop().await;
}

#[tokio::test]
async fn a_pod_is_bound_once() {
    let (server, client) = started().await;
    pod(&client, "p", Value::Null).await;
    let at = format!("{PODS}/p/binding");
    let binding = |name: &str, uid: &str, node: &str| json!({"metadata": {"name": name, "uid": uid}, "target": {"name": node}});
    let refused = async |binding: Value, code: u16, message: &str| {
        let (got, status) = client.send("POST", &at, binding).await;
        assert_eq!((got, status["message"].as_str().unwrap()), (code, message));
    };
    refused(binding("p", "", ""), 500, "target.name: Required value").await;
    refused(binding("q", "", "n"), 400, "name in URL does not match name in Binding object").await;
    let uid = client.get(&format!("{PODS}/p")).await["metadata"]["uid"].as_str().unwrap().to_owned();
    let (code, status) = client.send("POST", &at, binding("p", "other", "n")).await;
    let message = status["message"].as_str().unwrap();
    assert!(code == 409 && message.contains("UID in precondition: other, UID in object meta"), "{status}");
    let (code, _) = client.send("POST", &format!("{at}?dryRun=All"), binding("p", &uid, "n")).await;
    assert_eq!((code, &client.get(&format!("{PODS}/p")).await["spec"]["nodeName"]), (201, &Value::Null));
    bind(&client, "p", "n").await;
    let bound = client.get(&format!("{PODS}/p")).await;
    let condition = &bound["status"]["conditions"][0];
    assert_eq!((&bound["spec"]["nodeName"], &bound["metadata"]["generation"]), (&json!("n"), &json!(1)));
    assert_eq!((&condition["type"], &condition["status"]), (&json!("PodScheduled"), &json!("True")));
    let again =
        "Operation cannot be fulfilled on pods/binding \"p\": pod p is already assigned to node \"n\"";
    refused(binding("p", "", "m"), 409, again).await;
    server.stop().await;
}

async fn evict(client: &Client, pod: &str, options: Value) -> (u16, Value) {
    let eviction = json!({"metadata": {"name": pod}, "deleteOptions": options});
    client.send("POST", &format!("{PODS}/{pod}/eviction"), eviction).await
}

async fn budget(client: &Client, name: &str, allowed: i64) {
    let spec = json!({"selector": {"matchLabels": {"app": "a"}}});
    client.make(BUDGETS, json!({"metadata": {"name": name}, "spec": spec})).await;
    let status = json!({
        "observedGeneration": 1, "disruptionsAllowed": allowed,
        "currentHealthy": 1, "desiredHealthy": 2, "expectedPods": 2,
    });
    client.ok("PATCH", &format!("{BUDGETS}/{name}/status"), json!({"status": status})).await;
}

fn running(ready: bool) -> Value {
    let status = if ready { "True" } else { "False" };
    json!({"phase": "Running", "conditions": [{"type": "Ready", "status": status}]})
}

#[tokio::test]
async fn a_budget_is_spent_by_evictions() {
    let (server, client) = started().await;
    for name in ["a", "b"] {
        pod(&client, name, running(true)).await;
    }
    budget(&client, "one", 1).await;
    let dry = json!({"dryRun": ["All"]});
    assert_eq!(evict(&client, "a", dry).await.0, 201);
    assert_eq!(evict(&client, "a", Value::Null).await.0, 201);
    assert_eq!(client.send("GET", &format!("{PODS}/a"), Value::Null).await.0, 404);
    let status = client.get(&format!("{BUDGETS}/one")).await["status"].clone();
    assert_eq!(status["disruptionsAllowed"], json!(0));
    assert!(status["disruptedPods"]["a"].is_string(), "{status}");
    assert_eq!(status["conditions"][0]["reason"], json!("InsufficientPods"));
    let (code, refused) = evict(&client, "b", Value::Null).await;
    let cause = json!([{
        "reason": "DisruptionBudget",
        "message": "The disruption budget one needs 2 healthy pods and has 1 currently",
    }]);
    assert_eq!((code, &refused["details"]["causes"]), (429, &cause));
    budget(&client, "two", 1).await;
    let (code, refused) = evict(&client, "b", Value::Null).await;
    let message =
        "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";
    assert_eq!((code, refused["message"].as_str()), (500, Some(message)));
    server.stop().await;
}

#[tokio::test]
async fn pending_and_ended_pods_need_no_budget() {
    let (server, client) = started().await;
    budget(&client, "none", 0).await;
    for (name, status, code) in [
        ("pending", Value::Null, 201),
        ("ended", json!({"phase": "Failed"}), 201),
        ("unready", running(false), 429),
    ] {
        pod(&client, name, status).await;
        assert_eq!(evict(&client, name, Value::Null).await.0, code, "{name}");
    }
    let always = json!({"spec": {"unhealthyPodEvictionPolicy": "AlwaysAllow"}});
    client.ok("PATCH", &format!("{BUDGETS}/none"), always).await;
    assert_eq!(evict(&client, "unready", Value::Null).await.0, 201);
    server.stop().await;
}

#[tokio::test]
async fn eviction_checks_preconditions() {
    let (server, client) = started().await;
    pod(&client, "p", running(true)).await;
    let (code, refused) = evict(&client, "p", json!({"preconditions": {"uid": "other"}})).await;
    let uid = client.get(&format!("{PODS}/p")).await["metadata"]["uid"].as_str().unwrap().to_owned();
    let message = format!(
        "Operation cannot be fulfilled on Pod \"p\": the UID in the precondition (other) does not match the UID in \
         record ({uid}). The object might have been deleted and then recreated"
    );
    assert_eq!((code, refused["message"].as_str()), (409, Some(message.as_str())));
    let version = client.get(&format!("{PODS}/p")).await["metadata"]["resourceVersion"].clone();
    let pinned = json!({"preconditions": {"uid": uid, "resourceVersion": version}});
    assert_eq!(evict(&client, "p", pinned).await.0, 201);
    server.stop().await;
}

/// Starts a server with a pod on a node with a fake kubelet.
async fn with_kubelet() -> (TestServer, Client, Kubelet) {
    let (server, client) = started().await;
    let kubelet = Kubelet::start(server.dir()).await;
    client.make("/api/v1/nodes", json!({"metadata": {"name": "n"}})).await;
    let status = json!({
        "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": kubelet.port}},
    });
    client.ok("PATCH", "/api/v1/nodes/n/status", json!({"status": status})).await;
    pod(&client, "p", Value::Null).await;
    bind(&client, "p", "n").await;
    (server, client, kubelet)
}

#[tokio::test]
async fn a_log_comes_from_the_kubelet() {
    let (server, client, _kubelet) = with_kubelet().await;
    let check = async |path: &str, expected: (u16, &str)| {
        let (code, text) = client.text("GET", path).await;
        assert_eq!((code, text.as_str()), expected, "{path}");
    };
    let log = format!("{PODS}/p/log?tailLines=5&follow=true");
    check(&log, (200, "GET /containerLogs/default/p/c?follow=true&tailLines=5")).await;
    let (code, refused) = client.send("GET", &format!("{PODS}/p/log?tailLines=404"), Value::Null).await;
    let message = "the server could not find the requested resource ( pods/log p)";
    assert_eq!((code, refused["message"].as_str()), (404, Some(message)));
    pod(&client, "homeless", Value::Null).await;
    check(&format!("{PODS}/homeless/log"), (204, "")).await;
    client.ok("PATCH", "/api/v1/nodes/n/status", json!({"status": {"addresses": null}})).await;
    let (code, refused) = client.send("GET", &log, Value::Null).await;
    let message = "no preferred addresses found; known addresses: []";
    assert_eq!((code, refused["message"].as_str()), (500, Some(message)));
    server.stop().await;
}

#[tokio::test]
async fn upgrades_are_proxied_to_kubelet() {
    let (server, client, _kubelet) = with_kubelet().await;
    let exec = format!("{PODS}/p/exec?command=sh&stdin=true");
    let (code, refused) = client.send("POST", &exec, Value::Null).await;
    assert_eq!((code, refused["message"].as_str()), (400, Some("Upgrade request required")));
    let greeting = "POST /exec/default/p/c?command=sh&input=1 says ";
    assert_eq!(client.upgraded("POST", &exec, "hello").await, format!("{greeting}hello"));
    let forward = format!("{PODS}/p/portforward?ports=80");
    let greeting = "GET /portForward/default/p?port=80 says ";
    assert_eq!(client.upgraded("GET", &forward, "x").await, format!("{greeting}x"));
    server.stop().await;
}

#[tokio::test]
async fn proxying_to_local_addresses_is_rejected() {
    let (server, client, _kubelet) = with_kubelet().await;
    let ip = json!({"status": {"phase": "Running", "podIP": "127.0.0.1", "podIPs": [{"ip": "127.0.0.1"}]}});
    client.ok("PATCH", &format!("{PODS}/p/status"), ip).await;
    for path in [format!("{PODS}/p:80/proxy/"), "/api/v1/nodes/n/proxy/".to_owned()] {
        for method in ["GET", "POST", "PUT", "PATCH", "DELETE"] {
            let (code, refused) = client.send(method, &path, Value::Null).await;
            assert_eq!((code, refused["message"].as_str()), (400, Some("address not allowed")), "{path}");
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn a_service_without_pods_is_not_available() {
    let (server, client) = started().await;
    let services = "/api/v1/namespaces/default/services";
    client.make(services, json!({"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}})).await;
    let check = async |path: &str, code: u16, message: &str| {
        let (got, refused) = client.send("GET", &format!("{services}/{path}/proxy/"), Value::Null).await;
        assert_eq!((got, refused["message"].as_str()), (code, Some(message)), "{path}");
    };
    check("s", 503, "no endpoints available for service \"s\"").await;
    check("absent", 503, "no endpoints available for service \"absent\"").await;
    check("s:81", 503, "no service port 81 found for service \"s\"").await;
    check("a:b:c:d", 400, "invalid service request \"a:b:c:d\"").await;
    let target = json!({"kind": "Pod", "namespace": "default", "name": "none"});
    let slice = json!({
        "metadata": {"name": "s", "labels": {"kubernetes.io/service-name": "s"}}, "addressType": "IPv4",
        "endpoints": [{"addresses": ["10.1.2.3"], "targetRef": target}], "ports": [{"port": 8}],
    });
    client.make("/apis/discovery.k8s.io/v1/namespaces/default/endpointslices", slice).await;
    // The address does not belong to a known pod.
    check("s:80", 503, "no endpoints available for service \"s\"").await;
    server.stop().await;
}

#[tokio::test]
async fn component_statuses_are_probed() {
    let (server, client) = started().await;
    let store = client.get("/api/v1/componentstatuses/etcd-0").await;
    assert_eq!(store["conditions"], json!([{"type": "Healthy", "status": "True", "message": "ok"}]));
    let all = client.get("/api/v1/componentstatuses").await;
    let names: Vec<&Value> =
        all["items"].as_array().unwrap().iter().map(|i| &i["metadata"]["name"]).collect();
    assert_eq!(names, ["controller-manager", "scheduler", "etcd-0"]);
    let selected = client.get("/api/v1/componentstatuses?fieldSelector=metadata.name%3Detcd-0").await;
    assert_eq!(selected["items"].as_array().map(Vec::len), Some(1));
    let (code, refused) = client.send("GET", "/api/v1/componentstatuses/x", Value::Null).await;
    assert_eq!((code, refused["message"].as_str()), (404, Some("componentstatus \"x\" not found")));
    server.stop().await;
}

#[tokio::test]
async fn any_user_can_list_own_rules() {
    let (server, client) = started().await;
    let reviews = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews";
    let (code, review) = client.send("POST", reviews, json!({"spec": {"namespace": "default"}})).await;
    assert_eq!((code, &review["status"]["resourceRules"][0]["verbs"]), (201, &json!(["*"])));
    assert_eq!((&review["spec"], &review["kind"]), (&json!({}), &json!("SelfSubjectRulesReview")));
    for (list, member) in [("resourceRules", "apiGroups"), ("nonResourceRules", "nonResourceURLs")] {
        let rules = review["status"][list].as_array().unwrap();
        let unlimited = rules.iter().filter(|rule| rule[member] == json!(["*"])).count();
        assert_eq!(unlimited, 1, "an administrator has one role: {rules:?}");
    }
    let (code, refused) = client.send("POST", reviews, json!({"spec": {}})).await;
    assert_eq!((code, refused["message"].as_str()), (400, Some("no namespace on request")));
    server.stop().await;
}
