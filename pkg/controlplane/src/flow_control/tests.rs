//! Tests of the flow control configuration and of its updates.
#![allow(clippy::unwrap_used)]

use flowcontrol::{Distinguisher, LevelKind, Queuing, Response, Subject};
use jsontree::json;

use super::*;
use crate::test_client::Client;
use crate::test_cluster::TestServer;

#[test]
fn bootstrap_configuration_is_complete() {
    let all = Objects::bootstrap().unwrap();
    assert_eq!((all.schemas.len(), all.levels.len()), (11, 8));
    let accounts = &all.schemas["service-accounts"];
    assert_eq!((accounts.level.as_str(), accounts.precedence), ("workload-low", 9000));
    assert_eq!(accounts.distinguisher, Some(Distinguisher::ByUser));
    let [rule] = &*accounts.rules else { panic!("{accounts:?}") };
    assert_eq!(rule.subjects, [Subject::Group("system:serviceaccounts".to_owned())]);
    let [resources] = &*rule.resource_rules else { panic!("{rule:?}") };
    assert!(
        resources.cluster_scope && resources.namespaces == ["*"] && rule.non_resource_rules[0].paths == ["*"]
    );
    assert_eq!(all.levels["exempt"].kind, LevelKind::Exempt);
    let low = &all.levels["workload-low"];
    assert_eq!((low.shares, low.lendable_percent), (100, 90));
    let queuing = Queuing { queues: 128, hand_size: 6, queue_length_limit: 50 };
    let limited = |response| LevelKind::Limited { borrowing_limit_percent: None, response };
    assert_eq!(low.kind, limited(Response::Queue(queuing)));
    assert_eq!(all.levels["catch-all"].kind, limited(Response::Reject));
}

/// Returns status code, and the uids of schema and level, for a request.
async fn classified(client: &Client, path: &str) -> (u16, [String; 2]) {
    let response = client.response("GET", path).await;
    let uid = |name: &str| response.headers()[name].to_str().unwrap().to_owned();
    let names = ["x-kubernetes-pf-flowschema-uid", "x-kubernetes-pf-prioritylevel-uid"];
    (response.status().as_u16(), names.map(uid))
}

/// Waits until a condition holds.
async fn until(state: &str, is_so: impl AsyncFn() -> bool) {
    let wait = async {
        while !is_so().await {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), wait).await.unwrap_or_else(|_| panic!("never {state}"));
}

#[tokio::test]
async fn requests_are_classified_by_cluster_objects() {
    let server = TestServer::start().await.unwrap();
    let admin = Client::of(&server);
    let nobody = admin.clone().with_token(server.nobody_token());
    let root = "/apis/flowcontrol.apiserver.k8s.io/v1";
    let uid = async |path: &str| {
        admin.get(&format!("{root}/{path}")).await["metadata"]["uid"].as_str().unwrap().to_owned()
    };
    let default =
        [uid("flowschemas/global-default").await, uid("prioritylevelconfigurations/global-default").await];
    // Objects created at start are applied by the informer, shortly afterwards.
    until("followed", async || classified(&nobody, "/api/v1/pods").await == (403, default.clone())).await;
    let exempt = [uid("flowschemas/exempt").await, uid("prioritylevelconfigurations/exempt").await];
    assert_eq!(classified(&admin, "/api/v1/pods").await, (200, exempt));

    let level = json!({
        "apiVersion": "flowcontrol.apiserver.k8s.io/v1",
        "kind": "PriorityLevelConfiguration",
        "metadata": {"name": "closed"},
        "spec": {"type": "Limited", "limited": {"nominalConcurrencyShares": 0, "limitResponse": {"type": "Reject"}, "borrowingLimitPercent": 0}},
    });
    admin.ok("POST", &format!("{root}/prioritylevelconfigurations"), level).await;
    let schema = json!({
        "apiVersion": "flowcontrol.apiserver.k8s.io/v1",
        "kind": "FlowSchema",
        "metadata": {"name": "closed"},
        "spec": {
            "priorityLevelConfiguration": {"name": "closed"},
            "matchingPrecedence": 2,
            "rules": [{
                "subjects": [{"kind": "User", "user": {"name": "nobody"}}],
                "nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": ["/version"]}],
            }],
        },
    });
    admin.ok("POST", &format!("{root}/flowschemas"), schema).await;
    let closed = [uid("flowschemas/closed").await, uid("prioritylevelconfigurations/closed").await];
    until("classified anew", async || classified(&nobody, "/version").await == (200, closed.clone())).await;
    assert_eq!(classified(&nobody, "/api/v1/pods").await, (403, default));

    admin.ok("DELETE", &format!("{root}/prioritylevelconfigurations/closed"), json!(null)).await;
    let status = format!("{root}/flowschemas/closed/status");
    let dangles = async || admin.get(&status).await["status"]["conditions"][0]["status"] == "True";
    until("dangling", dangles).await;
    admin.ok("DELETE", &format!("{root}/flowschemas/closed"), json!(null)).await;
    until("as before", async || classified(&nobody, "/version").await.1 != closed).await;
    server.stop().await;
}

#[tokio::test]
async fn without_the_flag_nothing_is_classified() {
    let server = TestServer::start_with(|config| config.priority_and_fairness = false).await.unwrap();
    let client = Client::of(&server);
    let response = client.response("GET", "/api/v1/pods").await;
    assert!(!response.headers().contains_key("x-kubernetes-pf-flowschema-uid"));
    assert_eq!(client.text("GET", "/debug/api_priority_and_fairness/dump_queues").await.0, 404);
    assert!(!client.text("GET", "/metrics").await.1.contains("apiserver_flowcontrol_"));
    server.stop().await;
}
