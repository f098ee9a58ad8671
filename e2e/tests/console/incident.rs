//! Problems for these tests: a client that watches without reading, a webhook that does not respond, and a
//! user without permissions.

use std::net::TcpListener;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use e2e::process::Lines;
use e2e::{Kubectl, Server};
use http::Request;
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tempfile::TempDir;

/// Timeout for events whose exact time does not matter.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
/// Size in bytes of the constantly changing object.
const LARGE: usize = 800 << 10;
/// Number of changes after which a client that does not read must lag, despite connection buffers.
const CHANGES_MAX: usize = 64;

/// A server and a user without permissions.
pub(crate) struct IncidentFixture {
    pub(crate) server: Server,
    dir: TempDir,
}

impl IncidentFixture {
    pub(crate) fn begin() -> Self {
        let dir = TempDir::new().unwrap();
        let server = Server::start_flagged(&["--authorization-mode=RBAC"]);
        // A watcher that does not read, and a webhook that does not respond.
        server.allow_log("webhook");
        IncidentFixture { server, dir }
    }

    /// Returns `kubectl` of the user without permissions.
    pub(crate) fn nobody(&self) -> Kubectl {
        let path: PathBuf = self.dir.path().join("nobody.kubeconfig");
        let admin = std::fs::read_to_string(self.server.kubeconfig()).unwrap();
        let mut config: Value = serde_json::from_str(&admin).unwrap();
        config["users"][0]["user"]["as"] = json!("nobody");
        std::fs::write(&path, config.to_string()).unwrap();
        Kubectl::new(&path, self.dir.path())
    }

    /// Returns a section of the state, or all of it for an empty name.
    pub(crate) async fn state(&self, client: &Client, section: &str) -> Value {
        let path = format!("/debug/console/state{}{section}", if section.is_empty() { "" } else { "/" });
        let (code, body) = get(client, &path).await;
        assert_eq!(code, 200, "{path}");
        serde_json::from_slice(&body).unwrap()
    }

    /// Waits until a section of the state satisfies a condition.
    pub(crate) async fn until(
        &self,
        client: &Client,
        section: &str,
        wanted: impl Fn(&Value) -> bool,
    ) -> Value {
        let start = Instant::now();
        loop {
            let state = self.state(client, section).await;
            if wanted(&state) {
                return state;
            }
            assert!(start.elapsed() < PATIENCE, "{section} stays {state:#}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Opens a watch whose client does not read, and waits until it lags.
    pub(crate) async fn slow_watcher(&self, client: &Client) -> http::Response<Body> {
        let reader = self.server.client().await;
        let watch =
            Request::get("/api/v1/namespaces/default/configmaps?watch=1").body(Body::empty()).unwrap();
        let watch = reader.send(watch).await.unwrap();
        assert_eq!(watch.status(), 200);
        let path = "/api/v1/namespaces/default/configmaps";
        let map = |n: usize| {
            let data = format!("{n}{}", "x".repeat(LARGE));
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "large"}, "data": {"k": data}})
        };
        let send = async |request: http::request::Builder, body: Value| {
            let request = request.header("content-type", "application/json");
            let response =
                client.send(request.body(Body::from(body.to_string().into_bytes())).unwrap()).await.unwrap();
            assert!(response.status().is_success(), "{}", response.status());
        };
        send(Request::post(path), map(0)).await;
        for n in 1..CHANGES_MAX {
            send(Request::put(format!("{path}/large")), map(n)).await;
            if self.state(client, "watchers").await["rows"][0]["behind"].as_u64() > Some(0) {
                return watch;
            }
        }
        panic!("a client that does not read is never behind");
    }
}

/// A webhook for ConfigMaps named `judged` that accepts connections and never responds.
pub(crate) struct StuckWebhook {
    pub(crate) host: String,
    _listener: TcpListener,
}

impl StuckWebhook {
    pub(crate) fn configure(server: &Server) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let configuration = json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": "stuck"},
            "webhooks": [{
                "name": "stuck.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"],
                "failurePolicy": "Ignore", "timeoutSeconds": 30,
                "clientConfig": {"url": format!("https://{host}/judge")},
                "matchConditions": [{"name": "named", "expression": "object.metadata.name == 'judged'"}],
                "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}],
            }],
        });
        server.kubectl().ok_with("create -f -", &configuration.to_string());
        StuckWebhook { host, _listener: listener }
    }

    /// Starts a request that waits for the webhook, until dropped. Servers need a moment to observe the
    /// configuration.
    pub(crate) fn ask(&self, server: &Server) -> Lines {
        server.kubectl().start("create configmap judged --dry-run=server")
    }
}

/// Returns status code and body of a response.
pub(crate) async fn get(client: &Client, path: &str) -> (u16, Vec<u8>) {
    let response = client.send(Request::get(path).body(Body::empty()).unwrap()).await.unwrap();
    let code = response.status().as_u16();
    (code, response.into_body().collect_bytes().await.unwrap().to_vec())
}
