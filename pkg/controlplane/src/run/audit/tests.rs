//! Tests of a server with audit logging.
#![allow(clippy::unwrap_used)]

use ::audit::{Event, FileOptions, Format, Level, RequestRecord, Stage};
use apimachinery::request_context::AuditId;
use apimachinery::time::UnixTime;
use component_base::clock::TestClock;
use component_base::metrics::MetricsRegistry;
use jsontree::{Value, json};

use super::*;
use crate::config::AuditWebhookConfig;
use crate::test_client::Client;
use crate::test_cluster::{TestDir, TestServer};

const POLICY: &str = "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]\n";

struct World {
    dir: TestDir,
    metrics: Arc<AuditMetrics>,
}

impl World {
    fn new() -> Self {
        World { dir: TestDir::new().unwrap(), metrics: Arc::default() }
    }

    fn config(&self, policy: Option<&str>) -> AuditConfig {
        let policy_file = policy.map(|text| {
            let path = self.dir.path().join("policy.yaml");
            std::fs::write(&path, text).unwrap();
            path
        });
        let path = self.dir.path().join("audit.log");
        let file = FileOptions { path, bytes_max: None, backups_max: 0, days_max: 0, compress: false };
        let log = AuditLogConfig {
            file: Some(file),
            format: Format::Json,
            mode: AuditMode::Blocking,
            truncate: None,
        };
        AuditConfig { policy_file, log: Some(log), webhook: None }
    }

    fn auditor(&self, config: &AuditConfig) -> Result<Option<Arc<Auditor>>, RunError> {
        let clock: Arc<dyn Clock> = Arc::new(TestClock::default());
        let calls = client::webhook::ClientMetrics::new(&MetricsRegistry::default(), &clock);
        auditor(config, &clock, &self.metrics, &calls, None)
    }
}

#[test]
fn audit_needs_policy_and_backend() {
    let world = World::new();
    assert!(world.auditor(&world.config(Some(POLICY))).unwrap().is_some());
    assert!(world.auditor(&world.config(None)).unwrap().is_none());
    assert!(world.auditor(&AuditConfig { log: None, ..world.config(Some(POLICY)) }).unwrap().is_none());
}

#[test]
fn invalid_policy_prevents_start() {
    let world = World::new();
    let path = world.dir.path().join("policy.yaml");
    let config = world.config(Some("apiVersion: audit.k8s.io/v1\nkind: Policy\n"));
    let expected = format!(
        "loading audit policy file: loaded illegal policy with 0 rules: from file {}",
        path.display()
    );
    assert_eq!(world.auditor(&config).err().map(|error| error.to_string()), Some(expected));
    std::fs::remove_file(&path).unwrap();
    let error = world.auditor(&config).err().unwrap().to_string();
    assert!(error.starts_with("loading audit policy file: failed to read file path \""), "{error}");
}

#[test]
fn pending_batch_is_flushed_at_shutdown() {
    let world = World::new();
    let mut config = world.config(Some(POLICY));
    let options = BatchOptions {
        waiting_max: 10,
        events_max: 10,
        wait_max: std::time::Duration::from_secs(3600),
        throttle: None,
    };
    if let Some(log) = &mut config.log {
        log.mode = AuditMode::Batch(options);
    }
    let auditor = world.auditor(&config).unwrap().unwrap();
    auditor.sink().finish();
    assert_eq!(std::fs::read_to_string(world.dir.path().join("audit.log")).unwrap(), "");
}

#[test]
fn ignored_policy_fields_are_weakened_decisions() {
    let check = |policy: &str, expected: u64| {
        let world = World::new();
        world.auditor(&world.config(Some(policy))).unwrap();
        assert_eq!(world.metrics.weakened().count(WeakenedKind::IgnoredSetting), expected, "{policy}");
    };
    check(POLICY, 0);
    check(&format!("{POLICY}\nunknown: true\n"), 1);
}

/// Returns the audit events of the requests in `act`.
async fn recorded(rule: &str, act: impl AsyncFnOnce(Client)) -> Vec<Value> {
    let world = World::new();
    let policy = format!(
        "apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nomitManagedFields: true\n\
         rules:\n- {{{rule}}}\n"
    );
    let audit = world.config(Some(&policy));
    let server = TestServer::start_with(|config| config.audit = audit).await.unwrap();
    act(Client::of(&server)).await;
    server.stop().await;
    let text = std::fs::read_to_string(world.dir.path().join("audit.log")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

#[tokio::test]
async fn server_records_requests() {
    let events = recorded("level: RequestResponse, resources: [{resources: [configmaps]}]", async |client| {
        let map =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v"}});
        client.make(MAPS, map).await;
        client.send("GET", &format!("{MAPS}/none"), Value::Null).await;
        client.ok("PATCH", &format!("{MAPS}/a"), json!({"data": {"k": "w"}})).await;
        client.get("/api/v1/namespaces/default/secrets").await;
        client.ok("DELETE", &format!("{MAPS}/a"), Value::Null).await;
    })
    .await;
    let verbs: Vec<&str> = events.iter().filter_map(|event| event["verb"].as_str()).collect();
    assert_eq!(verbs, ["create", "get", "patch", "delete"], "and nothing of Secrets");
    let [create, get, patch, delete] = events.as_slice() else { panic!("{events:?}") };
    assert_eq!(create["objectRef"]["name"], "a", "from the object");
    assert_eq!(
        (&create["responseStatus"]["code"], &create["requestObject"]["data"]["k"]),
        (&json!(201), &json!("v"))
    );
    assert!(create["responseObject"]["metadata"]["uid"].is_string(), "{create}");
    assert_eq!(create["responseObject"]["metadata"]["managedFields"], Value::Null);
    assert_eq!(
        (&get["responseStatus"]["reason"], &get["responseStatus"]["code"]),
        (&json!("NotFound"), &json!(404))
    );
    assert_eq!(get["responseStatus"]["details"], json!({"name": "none", "kind": "configmaps"}));
    assert_eq!(patch["requestObject"], json!({"data": {"k": "w"}}));
    assert_eq!(patch["responseObject"]["data"], json!({"k": "w"}));
    assert_eq!(delete["responseStatus"]["status"], "Success");
    assert_eq!(delete["annotations"]["authorization.k8s.io/decision"], "allow");
}

/// Returns the recorded object of a request.
async fn sent(method: &str, path: &str, body: Value) -> Value {
    let events = recorded("level: Request", async |client| _ = client.send(method, path, body).await).await;
    let event = events
        .iter()
        .find(|event| event["requestURI"] == path && event["user"]["username"] != "system:apiserver");
    event.unwrap()["requestObject"].clone()
}

#[tokio::test]
async fn object_is_recorded_with_defaults_of_its_version() {
    let hpa = json!({
        "apiVersion": "autoscaling/v1", "metadata": {"name": "h", "managedFields": []},
        "spec": {"scaleTargetRef": {"kind": "D", "name": "d"}, "maxReplicas": 3, "targetCPUUtilizationPercentage": 50},
    });
    let path = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers";
    let expected = json!({
        "kind": "HorizontalPodAutoscaler", "apiVersion": "autoscaling/v1", "metadata": {"name": "h"},
        "spec": {
            "scaleTargetRef": {"kind": "D", "name": "d"}, "minReplicas": 1, "maxReplicas": 3,
            "targetCPUUtilizationPercentage": 50,
        },
        "status": {"currentReplicas": 0, "desiredReplicas": 0},
    });
    assert_eq!(sent("POST", path, hpa).await, expected, "although it is refused");
    let token = json!({"spec": {"audiences": ["x"]}});
    let expected = json!({
        "kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1", "metadata": {},
        "spec": {"audiences": ["x"], "expirationSeconds": 3600, "boundObjectRef": null},
        "status": {"token": "", "expirationTimestamp": null},
    });
    let path = "/api/v1/namespaces/default/serviceaccounts/default/token";
    assert_eq!(sent("POST", path, token).await, expected, "of another kind than its resource");
}

#[tokio::test]
async fn object_is_recorded_before_path_validation() {
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b", "namespace": "c"}});
    assert_eq!(sent("PUT", &format!("{MAPS}/a"), map.clone()).await, map);
}

#[tokio::test]
async fn delete_options_are_recorded_in_upstream_version() {
    let options = json!({"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0});
    let expected =
        json!({"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/__internal", "gracePeriodSeconds": 0});
    assert_eq!(sent("DELETE", &format!("{MAPS}/a"), options).await, expected);
}

#[tokio::test]
async fn objects_of_any_form_are_recorded_as_json() {
    let events = recorded("level: RequestResponse, resources: [{resources: [namespaces]}]", async |client| {
        let client = client.with_header("accept", "application/yaml");
        client.text("GET", "/api/v1/namespaces/default").await;
        client.text("GET", "/api/v1/namespaces").await;
        client.text("GET", "/api/v1/namespaces/none").await;
    })
    .await;
    let kinds: Vec<&Value> = events.iter().map(|event| &event["responseObject"]["kind"]).collect();
    assert_eq!(kinds, ["Namespace", "NamespaceList", "Status"]);
    assert_eq!(events[2]["responseStatus"]["message"], "namespaces \"none\" not found");
}

/// Receives one request on the webhook's side and returns its body.
async fn take(listener: &tokio::net::TcpListener, status_line: &str) -> Value {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let (mut stream, _) = listener.accept().await.unwrap();
    let mut read = Vec::new();
    let body = loop {
        assert!(stream.read_buf(&mut read).await.unwrap() > 0, "{}", String::from_utf8_lossy(&read));
        let text = String::from_utf8_lossy(&read).into_owned();
        if let Some((_, body)) = text.split_once("\r\n\r\n")
            && let Ok(body) = serde_json::from_str(body)
        {
            break body;
        }
    };
    let head = format!("HTTP/1.1 {status_line}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    body
}

/// Creates the sink for a webhook with this listener.
fn webhook(world: &World, listener: &tokio::net::TcpListener, mode: AuditMode) -> Arc<dyn Sink> {
    let address = listener.local_addr().unwrap();
    let config_file = world.dir.path().join("webhook.yaml");
    let text = format!(
        "apiVersion: v1\nkind: Config\nclusters: [{{name: c, cluster: {{server: 'http://{address}/audit'}}}}]\n\
         contexts: [{{name: c, context: {{cluster: c}}}}]\ncurrent-context: c\n"
    );
    std::fs::write(&config_file, text).unwrap();
    let initial_wait = std::time::Duration::from_millis(1);
    let webhook = Some(AuditWebhookConfig { config_file, initial_wait, mode, truncate: None });
    let config = AuditConfig { log: None, webhook, ..world.config(Some(POLICY)) };
    Arc::clone(world.auditor(&config).unwrap().unwrap().sink())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn blocking_webhook_call_yields_its_thread() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let sink = webhook(&World::new(), &listener, AuditMode::Blocking);
    let (sender, receiver) = std::sync::mpsc::channel();
    tokio::spawn(async move { sender.send(sink.process(&[event()])) });
    // On the same thread, so that the webhook could not respond if the caller blocked.
    tokio::spawn(async move { take(&listener, "200 OK").await });
    let good = tokio::task::spawn_blocking(move || receiver.recv_timeout(std::time::Duration::from_secs(30)));
    assert_eq!(good.await.unwrap(), Ok(true));
}

#[tokio::test]
async fn webhook_gets_event_lists_after_failure() {
    for mode in [
        AuditMode::Blocking,
        AuditMode::Batch(BatchOptions {
            waiting_max: 10,
            events_max: 10,
            wait_max: std::time::Duration::from_millis(1),
            throttle: None,
        }),
    ] {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let sink = webhook(&World::new(), &listener, mode);
        let sending = tokio::task::spawn_blocking(move || {
            let good = sink.process(&[event()]);
            sink.finish();
            good
        });
        take(&listener, "403 Forbidden").await;
        let list = take(&listener, "200 OK").await;
        assert_eq!((&list["kind"], &list["items"][0]["auditID"]), (&json!("EventList"), &json!("id")));
        assert!(sending.await.unwrap());
    }
}

fn event() -> Event {
    Event {
        level: Level::Metadata,
        audit_id: AuditId::new(b"id"),
        stage: Stage::RequestReceived,
        request_record: RequestRecord::new("/", "get", None, std::iter::empty(), ""),
        object: None,
        response_status: None,
        request_object: None,
        response_object: None,
        received: UnixTime::default(),
        stage_time: UnixTime::default(),
        annotations: Vec::new(),
    }
}
