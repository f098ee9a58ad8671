//! Tests of authorizers from a file, with a complete server.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::PathBuf;

use authorization::config::Configuration;
use authorization::{AuthorizerDeps, AuthorizerMetrics, Decision};
use component_base::metrics::MetricsRegistry;
use component_base::weakened::{WeakenedDecisions, WeakenedKind};
use jsontree::{Value, json};

use super::*;
use crate::config::ConfigurationFile;
use crate::test_client::Client;
use crate::test_cluster::{TestDir, TestServer};

const REVIEWS: &str = "/apis/authorization.k8s.io/v1/subjectaccessreviews";

/// Webhook over plain HTTP with a fixed response. It handles requests sequentially and runs until the process
/// ends.
fn webhook(response: &'static str) -> String {
    webhook_of("application/json", response)
}

/// The same with a given media type.
fn webhook_of(media_type: &'static str, response: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = Vec::new();
            let mut buffer = [0; 4096];
            while !request.ends_with(b"}}") {
                let read = stream.read(&mut buffer).unwrap();
                request.extend_from_slice(&buffer[..read]);
                if read == 0 {
                    break;
                }
            }
            let length = response.len();
            let head = format!(
                "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: {media_type}\r\ncontent-length: {length}\r\n\r\n"
            );
            stream.write_all(format!("{head}{response}").as_bytes()).unwrap();
        }
    });
    format!("http://127.0.0.1:{port}/authorize")
}

/// Writes a kubeconfig for a webhook to a directory.
fn kubeconfig(dir: &Path, name: &str, server: &str) -> PathBuf {
    let path = dir.join(name);
    let text = json!({
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "contexts": [{"name": "x", "context": {"cluster": "c"}}],
        "current-context": "x",
    });
    std::fs::write(&path, text.to_string()).unwrap();
    path
}

/// Builds a configuration with a webhook for all users except administrators.
fn text(kubeconfig: &Path, policy: &str) -> Vec<u8> {
    let webhook = json!({
        "timeout": "5s", "failurePolicy": policy, "subjectAccessReviewVersion": "v1",
        "matchConditionSubjectAccessReviewVersion": "v1",
        "matchConditions": [{"expression": "request.user != 'nobody-else'"}],
        "connectionInfo": {"type": "KubeConfigFile", "kubeConfigFile": kubeconfig},
    });
    let config = json!({
        "apiVersion": "apiserver.config.k8s.io/v1", "kind": "AuthorizationConfiguration",
        "authorizers": [{"type": "Webhook", "name": "w.example.com", "webhook": webhook}],
    });
    config.to_string().into_bytes()
}

/// Starts a server with a webhook with this response.
async fn server(dir: &Path, response: &'static str) -> TestServer {
    let path = kubeconfig(dir, "kubeconfig", &webhook(response));
    let text = text(&path, "NoOpinion");
    let configuration = Configuration::parse(&text, &BTreeSet::new()).unwrap();
    let file = ConfigurationFile { path: dir.join("config"), text };
    std::fs::write(&file.path, &file.text).unwrap();
    let config = AuthorizationConfig { configuration, file: Some(file), policy_file: None };
    TestServer::start_with(|to_change| to_change.authorization = config).await.unwrap()
}

async fn reviewed(client: &Client) -> Value {
    let spec = json!({"user": "ann", "resourceAttributes": {"verb": "get", "resource": "pods"}});
    client.ok("POST", REVIEWS, json!({"spec": spec})).await["status"].clone()
}

fn client_metrics() -> client::webhook::ClientMetrics {
    client::webhook::ClientMetrics::new(&MetricsRegistry::default(), &crate::system::clock())
}

#[tokio::test]
async fn a_webhook_decides_and_its_decisions_are_counted() {
    let dir = TestDir::new().unwrap();
    let server = server(dir.path(), r#"{"status": {"allowed": true, "reason": "because"}}"#).await;
    let client = Client::of(&server);
    assert_eq!(reviewed(&client).await, json!({"allowed": true, "reason": "because"}));
    let metrics = client.text("GET", "/metrics").await.1;
    for line in [
        "apiserver_authorization_decisions_total{decision=\"allowed\",name=\"w.example.com\",type=\"Webhook\"} 1",
        "apiserver_authorization_webhook_evaluations_total{name=\"w.example.com\",result=\"success\"} 1",
    ] {
        assert!(metrics.contains(line), "{line}");
    }
    assert!(
        metrics.contains(
            "apiserver_authorization_config_controller_last_config_info{apiserver_id_hash=\"sha256:"
        )
    );
}

#[tokio::test]
async fn response_is_read_with_any_media_type() {
    let dir = TestDir::new().unwrap();
    let file = kubeconfig(dir.path(), "kubeconfig", &webhook_of("text/plain", "an answer"));
    let parsed = Configuration::parse(&text(&file, "Deny"), &BTreeSet::new()).unwrap();
    let config = parsed.authorizers[0].webhook.as_ref().unwrap();
    let failed = std::sync::Mutex::new(Vec::new());
    let note = |attempt: authorization::webhook::Attempt| failed.lock().unwrap().push(attempt.timed_out);
    let response = calls::connect(config, None, &client_metrics())
        .unwrap()
        .post_review(br#"{"spec":{}}"#.to_vec(), &note)
        .await
        .unwrap();
    assert_eq!((response.body.as_slice(), failed.into_inner().unwrap().len()), (&b"an answer"[..], 0));
}

#[tokio::test]
async fn webhook_failure_shows_in_reviews_or_500() {
    let dir = TestDir::new().unwrap();
    let server = server(dir.path(), "nonsense").await;
    let client = Client::of(&server);
    let error =
        "couldn't get version/kind; json parse error: invalid character 'o' in literal null (expecting 'u')";
    assert_eq!(reviewed(&client).await, json!({"allowed": false, "evaluationError": error}));
    let nobody = Client::of(&server).with_token("nobody-token");
    let (code, text) = nobody.text("GET", "/api/v1/namespaces/a/pods?limit=1").await;
    let expected = format!("Internal Server Error: \"/api/v1/namespaces/a/pods?limit=1\": {error}\n");
    assert_eq!((code, text), (500, expected));
}

#[tokio::test]
async fn valid_file_is_reloaded_and_invalid_ignored() {
    let dir = TestDir::new().unwrap();
    let yes = kubeconfig(dir.path(), "yes", &webhook(r#"{"status": {"allowed": true}}"#));
    let no = kubeconfig(dir.path(), "no", &webhook(r#"{"status": {"denied": true}}"#));
    let first = text(&yes, "Deny");
    let configuration = Configuration::parse(&first, &BTreeSet::new()).unwrap();
    let file = ConfigurationFile { path: dir.path().join("config"), text: first };
    let deps = AuthorizerDeps {
        roles: None,
        nodes: None,
        policies: None,
        connect: Box::new(|webhook| calls::connect(webhook, None, &client_metrics())),
        clock: Arc::new(SystemClock),
        metrics: Arc::new(AuthorizerMetrics::default()),
    };
    let reloadable = Arc::new(Reloadable::new(deps, configuration, file.text.clone()).unwrap());
    let registry = MetricsRegistry::default();
    let weakened = WeakenedDecisions::default();
    let monitoring = Monitoring { metrics: &registry, weakened: &weakened };
    let follower = FileReloader::new(file.clone(), Arc::clone(&reloadable), monitoring);
    let user = Default::default();
    let allowed = async || {
        matches!(reloadable.decide(authorization::Attributes::of_user(&user)).await, Decision::Allow(_))
    };
    let counted = |text: &str| {
        let page = registry.to_string();
        let mut totals = page.lines().filter(|line| line.contains("automatic_reloads_total{"));
        totals.any(|line| line.ends_with(&format!("{text}\"}} 1")))
    };
    std::fs::write(&file.path, text(&no, "Deny")).unwrap();
    assert!(allowed().await);
    follower.reload_if_changed();
    assert!(!allowed().await && counted("status=\"success") && !counted("status=\"failure"));
    let stale = || weakened.count(WeakenedKind::StaleConfiguration);
    assert_eq!(stale(), 0);
    std::fs::write(&file.path, "authorizers: []").unwrap();
    follower.reload_if_changed();
    assert!(!allowed().await && counted("status=\"failure"));
    assert_eq!(stale(), 1);
    follower.reload_if_changed();
    assert!(counted("status=\"failure"), "the same text is one failure, as upstream");
    assert_eq!(stale(), 2, "the configuration is still stale");
    std::fs::remove_file(&file.path).unwrap();
    follower.reload_if_changed();
    assert!(!allowed().await && !counted("status=\"failure"));
    assert_eq!(weakened.recent()[0].name, file.path.display().to_string());
    std::fs::write(&file.path, text(&no, "Deny")).unwrap();
    follower.reload_if_changed();
    assert_eq!(stale(), 3, "the active configuration is that of the file");
}

/// HTTP CONNECT proxy that handles clients sequentially, and reports the requested hosts.
fn proxy() -> (u16, std::sync::mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                stream.read_exact(&mut byte).unwrap();
                head.extend_from_slice(&byte);
            }
            let head = String::from_utf8(head).unwrap();
            let target = head.strip_prefix("CONNECT ").unwrap().split(' ').next().unwrap().to_owned();
            let other = std::net::TcpStream::connect(&target).unwrap();
            stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
            sender.send(target).unwrap();
            let mut from = stream.try_clone().unwrap();
            let mut to = other.try_clone().unwrap();
            std::thread::spawn(move || std::io::copy(&mut from, &mut to));
            let mut from = other;
            let mut to = stream;
            std::thread::spawn(move || std::io::copy(&mut from, &mut to));
        }
    });
    (port, receiver)
}

#[tokio::test]
async fn control_plane_webhook_uses_egress_proxy() {
    let dir = TestDir::new().unwrap();
    let url = webhook(r#"{"status": {"allowed": true}}"#);
    let path = kubeconfig(dir.path(), "kubeconfig", &url);
    let text = text(&path, "NoOpinion");
    let configuration = Configuration::parse(&text, &BTreeSet::new()).unwrap();
    let authorization = AuthorizationConfig { configuration, file: None, policy_file: None };
    let (port, targets) = proxy();
    let file = dir.path().join("egress.yaml");
    let selections = format!(
        "apiVersion: apiserver.k8s.io/v1beta1\nkind: EgressSelectorConfiguration\negressSelections:\n\
         - name: controlplane\n  connection:\n    proxyProtocol: HTTPConnect\n    transport:\n      tcp:\n\
        \x20       url: http://127.0.0.1:{port}\n\
         - {{name: cluster, connection: {{proxyProtocol: GRPC, transport: {{uds: {{udsName: /nonexistent}}}}}}}}\n"
    );
    std::fs::write(&file, selections).unwrap();
    let egress = crate::config::egress(&file).unwrap();
    let change = |config: &mut Config| (config.authorization, config.egress) = (authorization, egress);
    let server = TestServer::start_with(change).await.unwrap();
    let client = Client::of(&server);
    assert_eq!(reviewed(&client).await["allowed"], json!(true));
    let target = targets.recv().unwrap();
    assert_eq!(url, format!("http://{target}/authorize"));
    let metrics = client.text("GET", "/metrics").await.1;
    let labels = "{protocol=\"http_connect\",transport=\"tcp\"}";
    assert!(metrics.contains(&format!("apiserver_egress_dialer_dial_start_total{labels}")), "{metrics}");
}
