//! Tests of service account tokens: requested, used and invalidated.

use component_base::features::Gate;
use controlplane::config::Config;
use jsontree::{Value, json};

use crate::client::{Client, JSON};

const CORE: &str = "/api/v1/namespaces/default";
const API: &str = "https://kubernetes.default.svc";

/// Starts a server with the service account `sa`.
async fn start(change: impl FnOnce(&mut Config)) -> Client {
    let client = Client::start_with(change).await;
    create(&client, "serviceaccounts", json!({"metadata": {"name": "sa"}})).await;
    client
}

/// Creates an object of the core group and returns its uid.
async fn create(client: &Client, plural: &str, object: Value) -> String {
    let response = client.post(&format!("{CORE}/{plural}"), &object).await;
    assert_eq!(response.code, 201, "{}", response.json());
    response.json()["metadata"]["uid"].as_str().unwrap().to_owned()
}

async fn request(client: &Client, name: &str, body: Value) -> (u16, Value) {
    let response = client.post(&format!("{CORE}/serviceaccounts/{name}/token"), &body).await;
    (response.code, response.json())
}

/// Requests a token for `sa`.
async fn token(client: &Client, spec: Value) -> String {
    let (code, response) = request(client, "sa", json!({"spec": spec})).await;
    assert_eq!(code, 201, "{response}");
    response["status"]["token"].as_str().unwrap().to_owned()
}

/// Returns the status of a token review.
async fn review(client: &Client, token: &str) -> Value {
    let body = json!({"spec": {"token": token}});
    client.post("/apis/authentication.k8s.io/v1/tokenreviews", &body).await.json()["status"].clone()
}

/// Sends a request with a token and returns the response.
async fn list_pods(client: &Client, token: &str) -> (u16, String) {
    let bearer = format!("Bearer {token}");
    let response = client.send("GET", &format!("{CORE}/pods"), &[("authorization", &bearer)], "").await;
    (response.code, response.json()["message"].as_str().unwrap_or("").to_owned())
}

#[tokio::test]
async fn a_requested_token_proves_its_service_account() {
    let client = start(|_| {}).await;
    let (code, response) = request(&client, "sa", json!({})).await;
    assert_eq!((code, &response["kind"]), (201, &json!("TokenRequest")), "{response}");
    assert_eq!(
        (&response["metadata"]["name"], &response["metadata"]["namespace"]),
        (&json!("sa"), &json!("default"))
    );
    let spec = json!({"audiences": [API], "expirationSeconds": 3600, "boundObjectRef": null});
    assert_eq!(response["spec"], spec);
    let token = response["status"]["token"].as_str().unwrap();
    let (code, message) = list_pods(&client, token).await;
    assert!(code == 403 && message.contains("User \"system:serviceaccount:default:sa\""), "{code} {message}");
    let status = review(&client, token).await;
    let user = &status["user"];
    assert_eq!((&status["authenticated"], &status["audiences"]), (&json!(true), &json!([API])));
    assert_eq!(user["uid"], response["metadata"]["uid"]);
    let groups = ["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"];
    assert_eq!(user["groups"], json!(groups));
}

#[tokio::test]
async fn token_ends_with_bound_object() {
    let client = start(|_| {}).await;
    let uid = create(&client, "secrets", json!({"metadata": {"name": "s"}})).await;
    let reference = json!({"apiVersion": "v1", "kind": "Secret", "name": "s", "uid": uid});
    let token = token(&client, json!({"boundObjectRef": reference})).await;
    assert_eq!(list_pods(&client, &token).await.0, 403);
    let response = client.send("DELETE", &format!("{CORE}/secrets/s"), &[], "").await;
    assert_eq!(response.code, 200);
    // The cache may still contain it for a moment.
    while list_pods(&client, &token).await.0 == 403 {
        tokio::task::yield_now().await;
    }
    assert_eq!(list_pods(&client, &token).await, (401, "Unauthorized".to_owned()));
    let error = "[invalid bearer token, service account token has been invalidated]";
    assert_eq!(review(&client, &token).await, json!({"error": error, "user": {}}));
}

#[tokio::test]
async fn pod_token_contains_node() {
    let client = start(|_| {}).await;
    let spec = json!({
        "serviceAccountName": "sa", "nodeName": "n", "containers": [{"name": "c", "image": "i"}],
    });
    let pod = json!({"metadata": {"name": "p"}, "spec": spec});
    let uid = create(&client, "pods", pod).await;
    let reference = json!({"apiVersion": "v1", "kind": "Pod", "name": "p"});
    let spec = json!({"boundObjectRef": reference, "expirationSeconds": 3607});
    let token = token(&client, spec).await;
    let extra = &review(&client, &token).await["user"]["extra"];
    let key = |name: &str| format!("authentication.kubernetes.io/{name}");
    assert_eq!(extra[key("pod-name")], json!(["p"]));
    assert_eq!(extra[key("pod-uid")], json!([uid]));
    assert_eq!((&extra[key("node-name")], &extra[key("node-uid")]), (&json!(["n"]), &Value::Null));
    create(&client, "serviceaccounts", json!({"metadata": {"name": "other"}})).await;
    let (code, status) = request(&client, "other", json!({"spec": {"boundObjectRef": reference}})).await;
    let message = "cannot bind token for serviceaccount \"other\" to pod running with different \
                   serviceaccount name.";
    assert_eq!((code, &status["message"]), (400, &json!(message)));
}

#[tokio::test]
async fn webhook_token_attests_an_api_group() {
    let client = start(|config| {
        config.gates = config.gates.with(Gate::APIServerWebhookAuthenticationToken, true);
    })
    .await;
    let webhook = json!({
        "name": "a.b.c", "clientConfig": {"url": "https://hook"}, "admissionReviewVersions": ["v1"],
        "sideEffects": "None", "failurePolicy": "Ignore",
        "rules": [{"apiGroups": ["apps"], "apiVersions": ["*"], "operations": ["CREATE"], "resources": ["x"]}],
    });
    let group = "/apis/admissionregistration.k8s.io/v1";
    let kind = "ValidatingWebhookConfiguration";
    let body = json!({"metadata": {"name": "w"}, "webhooks": [webhook]});
    assert_eq!(client.post(&format!("{group}/validatingwebhookconfigurations"), &body).await.code, 201);
    let spec = |audience: &str, group: &str| {
        let bound = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "name": "w"});
        let attestations = json!({"admissionReviewAPIGroups": [group]});
        json!({"spec": {"audiences": [audience], "attestations": attestations, "boundObjectRef": bound}})
    };
    let (code, status) = request(&client, "sa", spec("https://hook", "apps")).await;
    let message = "admissionReviewAPIGroups.authentication.k8s.io \"apps\" is forbidden: User \
                   \"system:serviceaccount:default:sa\" cannot attest resource \"admissionReviewAPIGroups\" in API \
                   group \"authentication.k8s.io\" at the cluster scope";
    assert_eq!((code, status["message"].as_str().unwrap()), (403, message));
    let (code, status) = request(&client, "sa", spec(API, "apps")).await;
    let message = "api server audiences are invalid for webhook token requests";
    assert_eq!((code, status["message"].as_str().unwrap()), (400, message));
    allow_attestation(&client, "apps").await;
    let mut answer = request(&client, "sa", spec("https://hook", "apps")).await;
    while answer.0 == 403 {
        // The authorizer may not have the role yet.
        tokio::task::yield_now().await;
        answer = request(&client, "sa", spec("https://hook", "apps")).await;
    }
    let (code, response) = answer;
    assert_eq!((code, &response["spec"]["expirationSeconds"]), (201, &json!(600)), "{response}");
    let body = json!({"spec": {"token": response["status"]["token"], "audiences": ["https://hook"]}});
    let review = client.post("/apis/authentication.k8s.io/v1/tokenreviews", &body).await.json();
    let extra = &review["status"]["user"]["extra"];
    assert_eq!(extra["attestation.authentication.kubernetes.io/admissionReviewAPIGroups"], json!(["apps"]));
    assert_eq!(extra["authentication.kubernetes.io/validatingwebhookconfiguration-name"], json!(["w"]));
    let (code, status) = request(&client, "sa", spec("https://other", "apps")).await;
    let message = "serviceaccounts/token \"sa\" is forbidden: token request denied";
    assert_eq!((code, status["message"].as_str().unwrap()), (403, message));
}

/// Allows the service account `sa` to attest an API group.
async fn allow_attestation(client: &Client, group: &str) {
    let rbac = "/apis/rbac.authorization.k8s.io/v1";
    let rule = json!({
        "apiGroups": ["authentication.k8s.io"], "resources": ["admissionReviewAPIGroups"],
        "resourceNames": [group], "verbs": ["attest"],
    });
    let role = json!({"metadata": {"name": "attest"}, "rules": [rule]});
    assert_eq!(client.post(&format!("{rbac}/clusterroles"), &role).await.code, 201);
    let reference = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "attest"});
    let subject = json!({"kind": "ServiceAccount", "name": "sa", "namespace": "default"});
    let binding = json!({"metadata": {"name": "attest"}, "roleRef": reference, "subjects": [subject]});
    assert_eq!(client.post(&format!("{rbac}/clusterrolebindings"), &binding).await.code, 201);
}

#[tokio::test]
async fn mismatched_token_request_is_rejected() {
    let client = start(|_| {}).await;
    let check = async |name: &str, body: Value, code: u16, message: &str| {
        let (got, status) = request(&client, name, body).await;
        assert_eq!((got, status["message"].as_str().unwrap()), (code, message));
    };
    let bound = |kind: &str, name: &str| json!({"spec": {"boundObjectRef": {"apiVersion": "v1", "kind": kind, "name": name}}});
    check("none", json!({}), 404, "serviceaccounts \"none\" not found").await;
    check("sa", bound("Pod", "none"), 404, "pods \"none\" not found").await;
    check("sa", bound("Secret", "none"), 404, "secrets \"none\" not found").await;
    check("sa", bound("Node", "none"), 404, "nodes \"none\" not found").await;
    check("sa", bound("Pod", ""), 400, "Name parameter required.").await;
    check("sa", bound("ConfigMap", "x"), 400, "cannot bind token to object of type /v1, Kind=ConfigMap")
        .await;
    let broken = json!({"spec": {"boundObjectRef": {"apiVersion": "a/b/c", "kind": "Pod", "name": "x"}}});
    check("sa", broken, 404, "pods \"x\" not found").await;
    let namespace = "the namespace of the provided object does not match the namespace sent on the request";
    check("sa", json!({"metadata": {"namespace": "other"}}), 400, namespace).await;
    create(&client, "secrets", json!({"metadata": {"name": "s"}})).await;
    let mut other = bound("Secret", "s");
    other["spec"]["boundObjectRef"]["uid"] = json!("x");
    let message = "Operation cannot be fulfilled on Secret \"s\": the UID in the bound object reference (x) does \
                   not match the UID in record. The object might have been deleted and then recreated";
    check("sa", other, 409, message).await;
}

#[tokio::test]
async fn excessive_lifetime_is_shortened_with_warning() {
    let client = start(|config| {
        config.service_accounts.token_expiration_max = std::time::Duration::from_secs(7200);
    })
    .await;
    let body = json!({"spec": {"expirationSeconds": 7201}});
    let response = client.post(&format!("{CORE}/serviceaccounts/sa/token"), &body).await;
    let warning = "299 - \"requested expiration of 7201 seconds shortened to 7200 seconds\"";
    assert_eq!((response.code, response.header("warning")), (201, warning));
    assert_eq!(response.json()["spec"]["expirationSeconds"], json!(7200));
}

#[tokio::test]
async fn discovery_documents_are_served_for_url_issuer() {
    let client = start(|_| {}).await;
    let response = client.get("/.well-known/openid-configuration", JSON).await;
    assert_eq!((response.code, response.header("cache-control")), (200, "public, max-age=3600"));
    assert_eq!(response.json()["issuer"], json!(API));
    let keys = client.get("/openid/v1/jwks", "application/jwk-set+json").await;
    assert_eq!((keys.code, keys.json()["keys"].as_array().unwrap().len()), (200, 1));
    let client = start(|config| config.service_accounts.issuers = vec!["api".to_owned()]).await;
    assert_eq!(client.get("/openid/v1/jwks", "*/*").await.code, 404);
    assert!(review(&client, &token(&client, json!({})).await).await["authenticated"] == json!(true));
}
