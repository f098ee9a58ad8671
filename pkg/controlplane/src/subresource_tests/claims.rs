//! Tests of permissions for ResourceClaim status updates, with a complete server.

use jsontree::{Value, json};

use super::started;
use crate::test_client::Client;

const CLAIMS: &str = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims";
const GROUP: &str = "/apis/rbac.authorization.k8s.io/v1";

/// Grants the unprivileged user these verbs on claims in all namespaces.
async fn allow(admin: &Client, name: &str, resource: &str, verbs: &[&str]) {
    let rule = json!({"apiGroups": ["resource.k8s.io"], "resources": [resource], "verbs": verbs});
    let role = json!({"metadata": {"name": name}, "rules": [rule]});
    admin.ok("POST", &format!("{GROUP}/clusterroles"), role).await;
    let subject = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "nobody"});
    let binding = json!({
        "metadata": {"name": name}, "subjects": [subject],
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
    });
    admin.ok("POST", &format!("{GROUP}/clusterrolebindings"), binding).await;
}

/// Repeats a status patch until it returns this code.
async fn patched(client: &Client, path: &str, status: &Value, code: u16) -> Value {
    let polling = async {
        loop {
            let (actual, response) = client.send("PATCH", path, json!({"status": status})).await;
            if actual == code {
                return response;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(30), polling).await.expect("nothing changed in time")
}

fn claim(requests: &Value) -> Value {
    json!({"metadata": {"name": "c"}, "spec": {"devices": {"requests": requests}}})
}

#[tokio::test]
async fn binding_and_device_status_need_separate_permissions() {
    let (server, admin) = started().await;
    let nobody = Client::of(&server).with_token(server.nobody_token());
    let requests = json!([{"name": "r", "exactly": {"deviceClassName": "gpus"}}]);
    admin.ok("POST", CLAIMS, claim(&requests)).await;
    allow(&admin, "status", "resourceclaims/status", &["patch"]).await;
    let path = format!("{CLAIMS}/c/status");
    let device = json!({"request": "r", "driver": "gpu.example.com", "pool": "p", "device": "d"});
    let allocation = json!({"allocation": {"devices": {"results": [device]}}});
    let refused = patched(&nobody, &path, &allocation, 422).await;
    assert_eq!(refused["details"]["causes"][0]["field"], "status.allocation");
    let message = refused["details"]["causes"][0]["message"].as_str().unwrap();
    let beginning = "Forbidden: changing status.allocation or status.reservedFor requires \
         resource=\"resourceclaims/binding\", verb=\"patch\" permission: resourceclaims.resource.k8s.io is forbidden";
    assert!(message.starts_with(beginning), "{message}");
    admin.ok("PATCH", &path, json!({"status": allocation})).await;

    let report = json!({"devices": [{"driver": "gpu.example.com", "pool": "p", "device": "d"}]});
    let refused = patched(&nobody, &path, &report, 422).await;
    assert_eq!(refused["details"]["causes"][0]["field"], "status.devices");
    allow(&admin, "driver", "resourceclaims/driver", &["arbitrary-node:patch"]).await;
    patched(&nobody, &path, &report, 200).await;
    server.stop().await;
}

#[tokio::test]
async fn admin_access_requires_namespace_label() {
    let (server, admin) = started().await;
    let requests = json!([{"name": "r", "exactly": {"deviceClassName": "gpus", "adminAccess": true}}]);
    let (code, refused) = admin.send("POST", CLAIMS, claim(&requests)).await;
    assert_eq!((code, &refused["reason"]), (422, &json!("Invalid")), "{refused}");
    assert_eq!(refused["details"]["causes"][0]["field"], "spec.devices.requests[0].adminAccess");
    let labels = json!({"metadata": {"labels": {"resource.kubernetes.io/admin-access": "true"}}});
    admin.ok("PATCH", "/api/v1/namespaces/default", labels).await;
    admin.ok("POST", CLAIMS, claim(&requests)).await;
    server.stop().await;
}
