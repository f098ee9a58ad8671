//! Tests of RBAC with a complete server: roles take effect on the next request, and escalation is prevented.

use authorization::Mode;
use jsontree::{Value, json};

use crate::test_client::Client;
use crate::test_cluster::TestServer;

const GROUP: &str = "/apis/rbac.authorization.k8s.io/v1";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn role(name: &str, verbs: &[&str], groups: &[&str], resources: &[&str]) -> Value {
    json!({
        "metadata": {"name": name},
        "rules": [{"verbs": verbs, "apiGroups": groups, "resources": resources}],
    })
}

fn binding(name: &str, role: &str) -> Value {
    json!({
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "nobody"}],
    })
}

#[tokio::test]
async fn binding_applies_while_it_exists() {
    let change = |config: &mut crate::config::Config| {
        config.authorization = crate::config::AuthorizationConfig::of_modes(&[Mode::Rbac])
    };
    let server = TestServer::start_with(change).await.unwrap();
    let admin = Client::of(&server);
    let nobody = Client::of(&server).with_token(server.nobody_token());
    let (code, refused) = nobody.send("GET", MAPS, Value::Null).await;
    assert_eq!(code, 403, "{refused}");
    admin
        .ok("POST", &format!("{GROUP}/clusterroles"), role("reader", &["list"], &[""], &["configmaps"]))
        .await;
    let bindings = format!("{GROUP}/namespaces/default/rolebindings");
    admin.ok("POST", &bindings, binding("b", "reader")).await;
    nobody.eventually(MAPS, 200).await;
    assert_eq!(nobody.send("GET", "/api/v1/configmaps", Value::Null).await.0, 403, "in its namespace alone");
    let review = json!({"spec": {"resourceAttributes": {"verb": "list", "resource": "configmaps", "namespace": "default"}}});
    let result = nobody.ok("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review).await;
    let reason = "RBAC: allowed by RoleBinding \"b/default\" of ClusterRole \"reader\" to User \"nobody\"";
    assert_eq!(result["status"], json!({"allowed": true, "reason": reason}));
    admin.ok("DELETE", &format!("{bindings}/b"), Value::Null).await;
    nobody.eventually(MAPS, 403).await;
    server.stop().await;
}

#[tokio::test]
async fn all_role_writes_are_checked_for_escalation() {
    let change = |config: &mut crate::config::Config| {
        config.authorization = crate::config::AuthorizationConfig::of_modes(&[Mode::Rbac])
    };
    let server = TestServer::start_with(change).await.unwrap();
    let admin = Client::of(&server);
    let nobody = Client::of(&server).with_token(server.nobody_token());
    let verbs = ["create", "update", "patch", "get"];
    let writes = ["clusterroles", "clusterrolebindings", "roles", "rolebindings"];
    let grants = role("writer", &verbs, &["rbac.authorization.k8s.io"], &writes);
    admin.ok("POST", &format!("{GROUP}/clusterroles"), grants).await;
    admin.ok("POST", &format!("{GROUP}/clusterroles"), role("empty", &["get"], &["none"], &["none"])).await;
    admin.ok("POST", &format!("{GROUP}/clusterrolebindings"), binding("writers", "writer")).await;
    nobody.eventually(&format!("{GROUP}/clusterroles/empty"), 200).await;

    let all = role("mine", &["*"], &["*"], &["*"]);
    let namespaced = |plural: &str| format!("{GROUP}/namespaces/default/{plural}");
    let secrets = json!({"rules": [{"verbs": ["get"], "apiGroups": [""], "resources": ["secrets"]}]});
    let mut put = admin.ok("GET", &format!("{GROUP}/clusterroles/empty"), Value::Null).await;
    put["rules"] = secrets["rules"].clone();
    let attempts = [
        ("POST", format!("{GROUP}/clusterroles"), all.clone()),
        ("POST", namespaced("roles"), all.clone()),
        ("PATCH", format!("{GROUP}/clusterroles/empty"), secrets),
        ("PUT", format!("{GROUP}/clusterroles/empty"), put),
        ("PUT", format!("{GROUP}/clusterroles/mine"), all),
        ("POST", format!("{GROUP}/clusterrolebindings"), binding("mine", "cluster-admin")),
        ("POST", namespaced("rolebindings"), binding("mine", "cluster-admin")),
        ("POST", format!("{GROUP}/clusterroles?dryRun=All"), role("dry", &["*"], &["*"], &["*"])),
    ];
    for (method, path, body) in attempts {
        let (code, status) = nobody.send(method, &path, body).await;
        let message = status["message"].as_str().unwrap();
        assert_eq!(code, 403, "{method} {path}: {message}");
        assert!(
            message.contains("is attempting to grant RBAC permissions not currently held:\n{"),
            "{message}"
        );
    }
    let held = role("held", &["get"], &["rbac.authorization.k8s.io"], &["roles"]);
    nobody.ok("POST", &format!("{GROUP}/clusterroles"), held).await;
    server.stop().await;
}
