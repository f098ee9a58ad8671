//! Tests of extension API servers, with a complete server.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

mod extension;

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jsontree::{Value, json};
use server::tls::CertificateFiles;

use crate::test_client::Client;
use crate::test_cluster::TestServer;
use extension::Extension;

const API_SERVICES: &str = "/apis/apiregistration.k8s.io/v1/apiservices";
const NAME: &str = "v1.ext.example.com";
const THINGS: &str = "/apis/ext.example.com/v1/namespaces/a/things";
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
/// Timeout for a change to take effect.
const CHANGE_MAX: Duration = Duration::from_secs(60);

/// Repeats a request until the response satisfies `holds`.
async fn until(client: &Client, path: &str, holds: impl Fn(&Value) -> bool) -> Value {
    let polling = async {
        loop {
            let (code, text) = client.text("GET", path).await;
            let response = serde_json::from_str(&text).unwrap_or(Value::Null);
            if code == 200 && holds(&response) {
                return response;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(CHANGE_MAX, polling).await.expect("nothing changed in time")
}

fn condition(service: &Value) -> (&str, &str) {
    let condition = &service["status"]["conditions"][0];
    (condition["status"].as_str().unwrap_or_default(), condition["reason"].as_str().unwrap_or_default())
}

/// Starts a server with a Service `ext` that points to this machine.
async fn started() -> (TestServer, Client) {
    let server = TestServer::start().await.unwrap();
    let client = Client::of(&server);
    let spec = json!({"type": "ExternalName", "externalName": "127.0.0.1"});
    client
        .make("/api/v1/namespaces/default/services", json!({"metadata": {"name": "ext"}, "spec": spec}))
        .await;
    (server, client)
}

/// The server sets `kind` and `apiVersion`.
fn api_service(spec: Value) -> Value {
    json!({"metadata": {"name": NAME}, "spec": spec})
}

async fn register(client: &Client, extension: &Extension) {
    let spec = json!({
        "group": "ext.example.com", "version": "v1", "groupPriorityMinimum": 1000, "versionPriority": 15,
        "service": {"namespace": "default", "name": "ext", "port": extension.port},
        "caBundle": STANDARD.encode(&extension.certificate),
    });
    client.make(API_SERVICES, api_service(spec)).await;
}

async fn available(client: &Client) {
    until(client, &format!("{API_SERVICES}/{NAME}"), |service| condition(service) == ("True", "Passed"))
        .await;
    // Writes take effect with a watch event.
    until(client, THINGS, |response| response["uri"].is_string()).await;
}

#[tokio::test]
async fn forwarded_request_has_its_user() {
    let (server, client) = started().await;
    let extension = Extension::start("ext.default.svc").await;
    register(&client, &extension).await;
    available(&client).await;
    let echo = client.get(&format!("{THINGS}?limit=5")).await;
    assert_eq!(echo["uri"], format!("{THINGS}?limit=5"));
    let headers = json!({
        "x-remote-user": "admin", "x-remote-group": "system:masters", "x-forwarded-uri": THINGS,
        "host": format!("127.0.0.1:{}", extension.port),
    });
    assert_eq!(echo["headers"], headers);
    assert_eq!(client.ok("POST", THINGS, json!({"a": 1})).await, json!({"a": 1}));
    let (code, text) = client.text("GET", "/apis/ext.example.com/v1/redirects").await;
    assert_eq!(
        (code, &*text),
        (502, "the backend attempted to redirect this request, which is not permitted")
    );
    let reply = client.upgraded("POST", &format!("{THINGS}/x/exec"), "hello").await;
    assert_eq!(reply, "admin says hello");
    let nobody = Client::of(&server).with_token(server.nobody_token());
    assert_eq!(nobody.text("GET", THINGS).await.0, 403, "it is this server that authorizes");
    server.stop().await;
}

#[tokio::test]
async fn remote_resources_are_listed_while_registered() {
    let (server, client) = started().await;
    let extension = Extension::start("ext.default.svc").await;
    register(&client, &extension).await;
    available(&client).await;
    let of_group = |list: &Value| {
        let mut items = list["items"].as_array().unwrap().iter();
        items.find(|group| group["metadata"]["name"] == "ext.example.com").cloned()
    };
    let discovering = Client::of(&server).with_header("accept", AGGREGATED);
    let is_current = |list: &Value| {
        let group = of_group(list);
        group.is_some_and(|group| group["versions"][0]["resources"][0]["resource"] == "things")
    };
    let list = until(&discovering, "/apis", is_current).await;
    assert_eq!(of_group(&list).unwrap()["versions"][0]["freshness"], "Current");
    let group = client.get("/apis/ext.example.com").await;
    assert_eq!(group["preferredVersion"]["groupVersion"], "ext.example.com/v1");
    until(&client, "/openapi/v3/apis/ext.example.com/v1", |document| document["x-hash"] == "hash=1").await;
    until(&client, "/openapi/v2", |document| {
        document["paths"]["/apis/ext.example.com/v1/things"].is_object()
    })
    .await;
    client.ok("DELETE", &format!("{API_SERVICES}/{NAME}"), Value::Null).await;
    until(&discovering, "/apis", |list| of_group(list).is_none()).await;
    assert_eq!(client.text("GET", THINGS).await.0, 404);
    assert_eq!(client.text("GET", "/openapi/v3/apis/ext.example.com/v1").await.0, 404);
    server.stop().await;
}

#[tokio::test]
async fn wrong_server_name_is_rejected() {
    let (server, client) = started().await;
    let liar = Extension::start("somebody.else.svc").await;
    register(&client, &liar).await;
    let at = format!("{API_SERVICES}/{NAME}");
    let failed = |service: &Value| condition(service) == ("False", "FailedDiscoveryCheck");
    let service = until(&client, &at, failed).await;
    let message = service["status"]["conditions"][0]["message"].as_str().unwrap();
    let url = format!("https://127.0.0.1:{}/apis/ext.example.com/v1", liar.port);
    let expected = format!("failing or missing response from {url}: Get \"{url}\": ");
    assert!(message.starts_with(&expected) && message.contains("x509"), "{message}");
    let unavailable = (503, "service unavailable\n".to_owned());
    assert_eq!(client.text("GET", THINGS).await, unavailable);
    let discovering = Client::of(&server).with_header("accept", AGGREGATED);
    let list = discovering.get("/apis").await;
    let group = list["items"].as_array().unwrap().last().unwrap();
    assert_eq!(group["versions"], json!([{"version": "v1", "freshness": "Stale"}]));
    server.stop().await;
}

#[tokio::test]
async fn missing_service_is_reported_and_local_one_available() {
    let server = TestServer::start().await.unwrap();
    let client = Client::of(&server);
    let spec = json!({
        "group": "ext.example.com", "version": "v1", "groupPriorityMinimum": 1000, "versionPriority": 15,
        "service": {"namespace": "default", "name": "nosuch"}, "insecureSkipTLSVerify": true,
    });
    client.make(API_SERVICES, api_service(spec)).await;
    let at = format!("{API_SERVICES}/{NAME}");
    let service = until(&client, &at, |service| condition(service) == ("False", "ServiceNotFound")).await;
    let message = &service["status"]["conditions"][0]["message"];
    assert_eq!(message, "service/nosuch in \"default\" is not present");
    let metrics = client.text("GET", "/metrics").await.1;
    assert!(metrics.contains(&format!("aggregator_unavailable_apiservice{{name={NAME:?}}} 1\n")));
    let local = json!({"spec": {"service": null, "insecureSkipTLSVerify": false}});
    client.ok("PATCH", &at, local).await;
    until(&client, &at, |service| condition(service) == ("True", "Local")).await;
    server.stop().await;
}

#[tokio::test]
async fn responses_are_streamed() {
    let (server, client) = started().await;
    let extension = Extension::start("ext.default.svc").await;
    register(&client, &extension).await;
    available(&client).await;
    assert_eq!(client.first_piece("GET", &format!("{THINGS}?watch=1"), "").await, "first\n");
    let echo = client.first_piece("POST", THINGS, "a body without an end").await;
    let is_echo = "a body without an end".starts_with(&echo) && !echo.is_empty();
    assert!(is_echo, "nobody waits for what somebody else reads: {echo}");
    assert_eq!(client.broken("/apis/ext.example.com/v1/dies").await, "half of ");
    server.stop().await;
}

#[tokio::test]
async fn missing_proxy_certificate_prevents_start() {
    let missing =
        CertificateFiles { certificate: "/nonexistent/a.crt".into(), key: "/nonexistent/a.key".into() };
    let started = TestServer::start_with(|config| config.aggregation.certificate = Some(missing)).await;
    let error = started.err().map(|error| error.to_string()).unwrap();
    assert!(error.ends_with("open /nonexistent/a.crt: no such file or directory"), "{error}");
}
