//! Tests of subresource updates that belong to another object, with a complete server.

use jsontree::json;

use super::started;

const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";

#[tokio::test]
async fn a_scale_of_another_deployment_is_a_conflict() {
    let (server, client) = started().await;
    let spec = json!({
        "selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
    });
    client.ok("POST", DEPLOYMENTS, json!({"metadata": {"name": "d"}, "spec": spec})).await;
    let path = format!("{DEPLOYMENTS}/d/scale");
    let uid = client.get(&path).await["metadata"]["uid"].as_str().unwrap().to_owned();
    let change = json!({"metadata": {"uid": "other"}, "spec": {"replicas": 3}});
    let (code, status) = client.send("PATCH", &path, change).await;
    let message = format!(
        "Operation cannot be fulfilled on deployments/scale.apps \"d\": Precondition failed: UID in precondition: other, \
         UID in object meta: {uid}"
    );
    assert_eq!((code, status["message"].as_str()), (409, Some(message.as_str())));
    client.ok("PATCH", &path, json!({"metadata": {"uid": ""}, "spec": {"replicas": 2}})).await;
    server.stop().await;
}
