//! Tests of exported trace spans, with a complete server.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use apimachinery::time::UnixTime;
use component_base::trace::Origin;
use jsontree::{Value, json};
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{
    TraceService, TraceServiceServer,
};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::trace::v1::Span;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use telemetry::{ExporterEnvironment, Provider, TracingConfiguration};
use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::transport::{Identity, ServerTlsConfig};
use tonic::{Request, Response, Status};

use crate::config::Config;
use crate::test_client::Client;
use crate::test_cluster::TestServer;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
/// A sampled span of the client.
const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

/// Collector that stores the received spans.
#[derive(Clone, Default)]
struct Collector(Arc<Mutex<Vec<Span>>>);

#[tonic::async_trait]
impl TraceService for Collector {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        let resources = request.into_inner().resource_spans.into_iter();
        let spans = resources.flat_map(|resource| resource.scope_spans).flat_map(|scope| scope.spans);
        self.0.lock().unwrap().extend(spans);
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

impl Collector {
    async fn listen(&self) -> SocketAddr {
        self.listen_with(tonic::transport::Server::builder()).await
    }

    async fn listen_with(&self, mut builder: tonic::transport::Server) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = builder.add_service(TraceServiceServer::new(self.clone()));
        tokio::spawn(server.serve_with_incoming(TcpListenerStream::new(listener)));
        address
    }

    /// Returns the received spans whose trace id contains `trace`.
    fn of(&self, trace: &str) -> Vec<Span> {
        let spans = self.0.lock().unwrap();
        spans.iter().filter(|span| hex(&span.trace_id).contains(trace)).cloned().collect()
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn text(span: &Span, key: &str) -> String {
    let attribute = span.attributes.iter().find(|attribute| attribute.key == key);
    match attribute.and_then(|attribute| attribute.value.clone()?.value) {
        Some(Any::StringValue(text)) => text,
        Some(Any::IntValue(number)) => number.to_string(),
        _ => String::new(),
    }
}

fn events(span: &Span) -> Vec<&str> {
    span.events.iter().map(|event| event.name.as_str()).collect()
}

fn named<'s>(spans: &'s [Span], name: &str) -> &'s Span {
    let names: Vec<&str> = spans.iter().map(|span| span.name.as_str()).collect();
    spans.iter().find(|span| span.name == name).unwrap_or_else(|| panic!("no {name:?} among {names:?}"))
}

/// Starts a server that samples `rate` requests per million, with a collector.
async fn traced(rate: u32) -> (TestServer, Collector) {
    let collector = Collector::default();
    let address = collector.listen().await;
    let change = |config: &mut Config| {
        let path = config.serving.cert_dir.join("tracing.yaml");
        let text = format!(
            "apiVersion: apiserver.config.k8s.io/v1\nkind: TracingConfiguration\nendpoint: {address}\n\
             samplingRatePerMillion: {rate}\n"
        );
        std::fs::write(&path, text).unwrap();
        config.tracing_config_file = Some(path);
    };
    (TestServer::start_with(change).await.unwrap(), collector)
}

/// Returns the spans of one request that an administrator marked as sampled.
async fn recorded(method: &str, path: &str, body: Value) -> Vec<Span> {
    let (server, collector) = traced(0).await;
    let client = Client::of(&server);
    client.make(MAPS, json!({"metadata": {"name": "old"}, "data": {"a": "b"}})).await;
    client.with_header("traceparent", PARENT).ok(method, path, body).await;
    server.stop().await;
    assert_eq!(collector.of("").len(), collector.of(TRACE).len(), "only what was asked for is recorded");
    collector.of(TRACE)
}

#[tokio::test]
async fn creation_has_upstream_span_names() {
    let spans = recorded("POST", MAPS, json!({"metadata": {"name": "new"}})).await;
    let root = named(&spans, "POST /api/v1/namespaces/{:namespace}/configmaps");
    assert_eq!(hex(&root.parent_span_id), "b7ad6b7169203331");
    for (key, value) in [
        ("url.path", MAPS),
        ("http.request.method", "POST"),
        ("http.response.status_code", "201"),
        ("http.target", MAPS),
        ("network.peer.address", "127.0.0.1"),
    ] {
        assert_eq!(text(root, key), value, "{key}");
    }
    let verb = named(&spans, "Create");
    assert_eq!(verb.parent_span_id, root.span_id);
    for (key, value) in [("url", MAPS), ("resource", "configmaps"), ("verb", "POST"), ("client", "127.0.0.1")]
    {
        assert_eq!(text(verb, key), value, "{key}");
    }
    let expected = [
        "limitedReadBody succeeded",
        "About to convert to expected version",
        "Conversion done",
        "About to store object in database",
        "Write to database call succeeded",
        "About to write a response",
        "Writing http response done",
    ];
    assert_eq!(events(verb), expected);
    let write = named(&spans, "Create etcd3");
    assert_eq!(write.parent_span_id, verb.span_id);
    assert_eq!(
        (text(write, "type"), text(write, "resource"), text(write, "key")),
        ("*core.ConfigMap".into(), "configmaps".into(), "/configmaps/default/new".into())
    );
    let expected = [
        "About to Encode",
        "Encode succeeded",
        "TransformToStorage succeeded",
        "Txn call succeeded",
        "Decode succeeded",
    ];
    assert_eq!(events(write), expected);
    let serialization = named(&spans, "SerializeObject");
    assert_eq!(serialization.parent_span_id, verb.span_id);
    assert_eq!(text(serialization, "mediaType"), "application/json");
    assert_eq!(events(serialization), ["About to start writing response", "Write call succeeded"]);
    let audited = text(root, "audit-id");
    assert!(!audited.is_empty() && spans.iter().all(|span| text(span, "audit-id") == audited));
}

#[tokio::test]
async fn webhook_call_has_upstream_span_names() {
    let (server, collector) = traced(0).await;
    let client = Client::of(&server);
    let rule = json!({
        "operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"],
    });
    let service = json!({"namespace": "default", "name": "kubernetes", "path": "/nothing"});
    let hook = json!({
        "name": "itself.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"],
        "clientConfig": {"service": service}, "rules": [rule],
    });
    let webhooks = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
    client.make(webhooks, json!({"metadata": {"name": "itself"}, "webhooks": [hook]})).await;
    let create = json!({"metadata": {"generateName": "a"}});
    while client.send("POST", MAPS, create.clone()).await.0 == 201 {}
    client.with_header("traceparent", PARENT).send("POST", MAPS, create).await;
    server.stop().await;
    let spans = collector.of(TRACE);
    let call = named(&spans, "Call mutating webhook");
    for (key, value) in [
        ("configuration", "itself"),
        ("webhook", "itself.example.com"),
        ("resource", "/v1, Resource=configmaps"),
        ("subresource", ""),
        ("operation", "CREATE"),
    ] {
        assert_eq!(text(call, key), value, "{key}");
    }
    let post = named(&spans, "HTTP POST");
    assert_eq!(post.parent_span_id, call.span_id);
    // The receiver is this server itself, and the trace context was propagated.
    let of_webhook = |span: &&Span| span.parent_span_id == post.span_id;
    assert_eq!(spans.iter().filter(of_webhook).count(), 1);
}

#[tokio::test]
async fn reads_and_changes_have_upstream_span_names() {
    let old = format!("{MAPS}/old");
    let path = "/api/v1/namespaces/{:namespace}/configmaps/{:name}";
    let check = async |method: &str, target: &str, body: Value, expected: &[&str]| {
        let spans = recorded(method, target, body).await;
        let names: Vec<&str> = spans.iter().map(|span| span.name.as_str()).collect();
        let missing: Vec<_> = expected.iter().filter(|name| !names.contains(name)).collect();
        assert!(missing.is_empty(), "{method} {target}: {missing:?} not in {names:?}");
    };
    let get = format!("GET {path}");
    check("GET", &old, Value::Null, &[&get, "Get", "cacher.Get", "SerializeObject"]).await;
    let list = "GET /api/v1/namespaces/{:namespace}/configmaps";
    check("GET", MAPS, Value::Null, &[list, "List", "cacher.GetList", "SerializeObject"]).await;
    let watch = format!(
        "{MAPS}?watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan\
         &timeoutSeconds=1&labelSelector=none"
    );
    check("GET", &watch, Value::Null, &[list, "WatchList", "cacher.Watch", "WatchServer.HandleHTTP"]).await;
    let patch = format!("PATCH {path}");
    let data = json!({"data": {"a": "c"}});
    check("PATCH", &old, data, &[&patch, "Patch", "GuaranteedUpdate etcd3", "SerializeObject"]).await;
    let put = format!("PUT {path}");
    let object = json!({"metadata": {"name": "old"}});
    check("PUT", &old, object, &[&put, "Update", "GuaranteedUpdate etcd3", "SerializeObject"]).await;
    let delete = format!("DELETE {path}");
    check("DELETE", &old, Value::Null, &[&delete, "Delete", "SerializeObject"]).await;
}

#[tokio::test]
async fn cache_reads_have_spans_with_details() {
    let check = async |target: &str, name: &str, expected: &[&str]| {
        let spans = recorded("GET", target, Value::Null).await;
        assert_eq!(events(named(&spans, name)), expected, "{target}");
    };
    let fresh = ["watchCache locked acquired", "watchCache fresh enough"];
    let listed = ["GetLatestSnapshotOrBuildLocked success", "Listed items from cache", "Filtered items"];
    let ready = ["Ready", "getCurrentRV success"];
    check(MAPS, "cacher.GetList", &[&ready, &fresh[..], &listed].concat()).await;
    let selected = format!("{MAPS}?labelSelector=a");
    check(&selected, "cacher.GetList", &[&ready, &fresh[..], &listed[..2]].concat()).await;
    let read = [&fresh[..], &["GetByKey success"]].concat();
    check(&format!("{MAPS}/old?resourceVersion=0"), "cacher.Get", &read).await;
    let watch = format!("{MAPS}?watch=1&resourceVersion=0&timeoutSeconds=1");
    check(&watch, "cacher.Watch", &fresh).await;
}

#[tokio::test]
async fn untrusted_trace_context_is_ignored() {
    let (server, collector) = traced(0).await;
    let unprivileged =
        Client::of(&server).with_token(server.nobody_token()).with_header("traceparent", PARENT);
    assert_eq!(unprivileged.text("GET", MAPS).await.0, 403);
    server.stop().await;
    assert!(collector.of("").is_empty());

    let (server, collector) = traced(1_000_000).await;
    let unprivileged =
        Client::of(&server).with_token(server.nobody_token()).with_header("traceparent", PARENT);
    assert_eq!(unprivileged.text("GET", MAPS).await.0, 403);
    let bad = Client::of(&server).with_token("none").with_header("traceparent", PARENT);
    assert_eq!(bad.text("GET", MAPS).await.0, 401);
    server.stop().await;
    assert!(collector.of(TRACE).is_empty());
    let spans = collector.of("");
    let root = named(&spans, "GET /api/v1/namespaces/{:namespace}/configmaps");
    assert_eq!((root.parent_span_id.len(), hex(&root.links[0].trace_id)), (0, TRACE.to_owned()));
    assert_eq!(text(root, "http.response.status_code"), "403");
    assert!(spans.iter().all(|span| text(span, "http.response.status_code") != "401"));
}

/// A CA, and a certificate of this machine with its key. All are PEM.
struct Certificates {
    authority: String,
    certificate: String,
    key: String,
}

impl Certificates {
    fn generate() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &authority).unwrap().pem();
        Certificates { authority: authority.pem(), certificate, key: key.serialize_pem() }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn environment_encrypts_the_export() {
    let files = tempfile::TempDir::new().unwrap();
    let path = |name: &str| files.path().join(name).display().to_string();
    let Certificates { authority, certificate, key } = Certificates::generate();
    for (name, text) in [("ca", &authority), ("certificate", &certificate), ("key", &key)] {
        std::fs::write(path(name), text).unwrap();
    }
    let tls = ServerTlsConfig::new()
        .identity(Identity::from_pem(&certificate, &key))
        .client_ca_root(tonic::transport::Certificate::from_pem(&authority));
    let collector = Collector::default();
    let address = collector.listen_with(tonic::transport::Server::builder().tls_config(tls).unwrap()).await;
    let export = async |variables: &[(&str, String)]| {
        let lookup =
            |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| value.clone());
        let environment = ExporterEnvironment::read(lookup);
        let provider = Provider::new(&TracingConfiguration::default(), &environment, "id", None).unwrap();
        drop(provider.tracer().request("GET".to_owned(), Origin::New, UnixTime::default(), Vec::new()));
        provider.shutdown().await;
        collector.of("").len()
    };
    let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", format!("http://{address}"));
    let ca = ("OTEL_EXPORTER_OTLP_CERTIFICATE", path("ca"));
    let client_certificate = ("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", path("certificate"));
    let client_key = ("OTEL_EXPORTER_OTLP_CLIENT_KEY", path("key"));
    assert_eq!(export(std::slice::from_ref(&endpoint)).await, 0, "not encrypted");
    assert_eq!(export(&[endpoint.clone(), ca.clone()]).await, 0, "no client certificate");
    assert_eq!(export(&[endpoint, ca, client_certificate, client_key]).await, 1);
}

#[tokio::test]
async fn invalid_configuration_prevents_start() {
    let change = |config: &mut Config| {
        let path = config.serving.cert_dir.join("tracing.yaml");
        std::fs::write(&path, "kind: TracingConfiguration\napiVersion: apiserver.config.k8s.io/v1\nrate: 1")
            .unwrap();
        config.tracing_config_file = Some(path);
    };
    let error = TestServer::start_with(change).await.err().unwrap().to_string();
    assert!(error.contains("strict decoding error: unknown field \"rate\""), "{error}");
}
