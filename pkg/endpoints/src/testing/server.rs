//! Server for tests of handlers: the API behind the chain over an in-memory store, without connections, admission plugins and
//! CRDs.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use admission::Chain;
use api::catalog::Catalog;
use apimachinery::query::Query;
use apimachinery::request_context::RequestContext;
use apimachinery::request_info::request_info;
use apimachinery::time::UnixTime;
use apimachinery::user_info::{GROUP_MASTERS, UserInfo};
use async_trait::async_trait;
use authentication::{Anonymous, Authenticator};
use authorization::rbac::Index;
use authorization::{AlwaysAllow, Authorizer, Unauthorized, authorize};
use bytes::Bytes;
use cacher::{Delegator, Options};
use component_base::clock::TestClock;
use component_base::features::{Effective, Gates};
use component_base::metrics::MetricsRegistry;
use http_body_util::{BodyExt, Full};
use jsontree::{Value, json};
use registry::{Entropy, Registry, ingest};
use storage::memory::Memory;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use crate::aggregated::{Aggregation, BackendAddress, ErrorResponse, ServerResolver};
use crate::api::{Api, Backends, CompressedLists, DeprecatedRequests};
use crate::cpu_pool::CpuPool;
use crate::discovery::VersionInfo;
use crate::negotiation::Formats;
use crate::proxy::{LogMetrics, Network, NetworkError, StreamMetrics, Trust};
use crate::response;
use crate::routing::dispatch::{Body, Dispatch, Request, Response};
use crate::routing::served::{Description, ServedApi};
use crate::watch::drain::WatchDrain;

pub(crate) const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
pub(crate) const JSON: &str = "application/json";
pub(crate) const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

const NOW: UnixTime = UnixTime { seconds: 1_735_689_600, nanos: 0 };

/// Settings of a test server.
pub(crate) struct Settings {
    pub(crate) formats: Formats,
    pub(crate) authorizer: Arc<dyn Authorizer>,
}

impl Default for Settings {
    fn default() -> Self {
        Settings { formats: Formats::default(), authorizer: Arc::new(AlwaysAllow) }
    }
}

/// Client of the handlers. Its user is an administrator, unless a request has credentials.
pub(crate) struct Client {
    api: Api,
    cache_driver: JoinHandle<()>,
}

/// A completely read response.
pub(crate) struct TestResponse {
    pub(crate) code: u16,
    pub(crate) headers: http::HeaderMap,
    pub(crate) body: Bytes,
}

impl TestResponse {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&self.body)))
    }

    /// Returns a header; empty if missing.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// Returns status code and reason of the Status.
    pub(crate) fn code_and_reason(&self) -> (u16, String) {
        (self.code, self.json()["reason"].as_str().unwrap_or("").to_owned())
    }
}

impl Client {
    pub(crate) async fn start() -> Self {
        Self::start_with(Settings::default()).await
    }

    /// Starts the handlers with other settings.
    pub(crate) async fn start_with(settings: Settings) -> Self {
        let store: Arc<Memory> = Arc::default();
        let resources = ingest::resources("/registry", Gates::default(), |_| true);
        let (delegator, driver) =
            Delegator::new(Arc::clone(&store) as _, "/registry", resources, Options::default());
        let cache_driver = tokio::spawn(driver.run());
        delegator.ready().await;
        let clock = Arc::new(TestClock::at(NOW));
        let entropy: Arc<Counter> = Arc::default();
        let registry = Registry::new(
            delegator,
            "/registry",
            clock,
            Arc::clone(&entropy) as _,
            Duration::from_secs(3600),
        );
        Client { api: api(registry, settings), cache_driver }
    }

    /// Sends a request and returns the response with an unread body.
    pub(crate) async fn send_streaming(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Response {
        let mut request = http::Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (parts, ()) = request.body(()).unwrap().into_parts();
        let query = Query::parse(parts.uri.query().unwrap_or_default());
        let info = request_info(method, parts.uri.path(), &query).unwrap();
        let authorized = match authorize(&*self.api.authorizer, user(&parts), &info).await {
            Ok(authorized) => authorized,
            Err(Unauthorized::Forbidden { status, .. }) => {
                return response::status_response(response::ErrorForm::of(&parts), &status, &[]);
            }
            Err(Unauthorized::Failed(error)) => panic!("{error}"),
        };
        let context = Arc::new(RequestContext { info, query, ..RequestContext::default() });
        let body = Full::new(body.into()).map_err(|never| match never {}).boxed_unsync();
        self.api.dispatch(Request { parts, body, context, authorized }).await
    }

    pub(crate) async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> TestResponse {
        let (parts, body) = self.send_streaming(method, path, headers, body).await.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        TestResponse { code: parts.status.as_u16(), headers: parts.headers, body }
    }

    pub(crate) async fn get(&self, path: &str, accept: &str) -> TestResponse {
        self.send("GET", path, &[("accept", accept)], "").await
    }

    pub(crate) async fn post(&self, path: &str, object: &Value) -> TestResponse {
        self.send("POST", path, &[("content-type", JSON)], object.to_string()).await
    }

    pub(crate) async fn put(&self, path: &str, object: &Value) -> TestResponse {
        self.send("PUT", path, &[("content-type", JSON)], object.to_string()).await
    }

    /// Sends a patch of a media type.
    pub(crate) async fn patch(&self, path: &str, media_type: &str, patch: &Value) -> TestResponse {
        self.send("PATCH", path, &[("content-type", media_type)], patch.to_string()).await
    }

    pub(crate) async fn delete(&self, path: &str, options: &Value) -> TestResponse {
        self.send("DELETE", path, &[("content-type", JSON)], options.to_string()).await
    }

    /// Creates a config map with a label `app`.
    pub(crate) async fn create_config_map(&self, name: &str, app: &str) -> Value {
        let object = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": name, "labels": {"app": app}}, "data": {"k": "v"},
        });
        let response = self.post(CONFIG_MAPS, &object).await;
        assert_eq!(response.code, 201, "{}", String::from_utf8_lossy(&response.body));
        response.json()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.cache_driver.abort();
    }
}

/// Returns the user of a request: `nobody` with any credentials, otherwise an administrator.
fn user(parts: &http::request::Parts) -> UserInfo {
    if parts.headers.contains_key(http::header::AUTHORIZATION) {
        UserInfo { name: "nobody".to_owned(), ..UserInfo::default() }
    } else {
        UserInfo { name: "admin".to_owned(), groups: vec![GROUP_MASTERS.to_owned()], ..UserInfo::default() }
    }
}

fn api(registry: Registry, settings: Settings) -> Api {
    let about = Description {
        server_address: "127.0.0.1:6443".to_owned(),
        version: VersionInfo::with_emulation(Effective::default()),
        hashes_for: Some(Effective::default()),
        formats: settings.formats,
        beta_discovery: false,
        clock: Arc::new(TestClock::at(NOW)),
    };
    let (served, _) = ServedApi::incomplete(Catalog::builtin(|row| !row.off_by_default), about);
    served.complete();
    let authenticator = Authenticator {
        tokens: Vec::new(),
        api_audiences: Vec::new(),
        request_headers: None,
        anonymous: Anonymous::default(),
    };
    let metrics = MetricsRegistry::default();
    Api {
        registry,
        admission: Chain::new(Vec::new()),
        authorizer: settings.authorizer,
        roles: Arc::new(Index::default()),
        authenticator,
        token_requests: None,
        served: Arc::new(served),
        documents: Vec::new(),
        formats: settings.formats,
        watch_timeout_min: Duration::from_secs(1800),
        jitter: Arc::new(|| 0.5),
        compressed_lists: CompressedLists::new(1 << 20),
        watch_metrics: Arc::default(),
        deprecated_requests: Arc::new(DeprecatedRequests::new(&metrics)),
        backends: Backends {
            network: Arc::new(NoNetwork),
            kubelet_port: 10250,
            address_types: Vec::new(),
            primary_family: "IPv4",
            logs: Arc::new(LogMetrics::new(&metrics)),
            streams: Arc::new(StreamMetrics::new(&metrics)),
        },
        aggregation: Aggregation { servers: Arc::new(NoNetwork), send_uid: false, forward_redirects: false },
        peers: None,
        write_barrier: None,
        cpu_pool: CpuPool::start(NonZeroUsize::MIN, &Handle::current(), || {}).unwrap(),
        storage_health: Arc::new(|| Box::pin(async { Ok(()) })),
        watch_drain: WatchDrain::default(),
        shutdown: Default::default(),
    }
}

/// Entropy that counts up.
#[derive(Default)]
struct Counter(AtomicU32);

impl Entropy for Counter {
    fn uid(&self) -> String {
        format!("uid-{}", self.number())
    }

    fn number(&self) -> u32 {
        self.0.fetch_add(1, Relaxed)
    }
}

/// Network without other servers: every connection fails.
struct NoNetwork;

#[async_trait]
impl Network for NoNetwork {
    async fn send(&self, _: Trust, _: http::Request<Body>) -> Result<Response, NetworkError> {
        Err(NetworkError::Dial("no network".into()))
    }

    async fn send_dedicated(&self, _: Trust, _: http::Request<Body>) -> Result<Response, NetworkError> {
        Err(NetworkError::Dial("no network".into()))
    }

    async fn addresses(&self, _: &str) -> Result<Vec<std::net::IpAddr>, NetworkError> {
        Err(NetworkError::Dial("no network".into()))
    }
}

#[async_trait]
impl ServerResolver for NoNetwork {
    async fn resolve(&self, _: &str) -> Result<BackendAddress, ErrorResponse> {
        Err(ErrorResponse { code: 503, message: "no network".to_owned() })
    }
}
