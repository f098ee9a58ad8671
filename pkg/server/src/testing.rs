//! Test fixtures of this crate: an API whose paths select its behaviour, and a chain in front of it.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures::StreamExt;
use http_body_util::{BodyExt, StreamBody};
use tikv_jemalloc_ctl::thread::{allocatedp, deallocatedp};
use tokio::sync::Notify;

use apimachinery::request_info::RequestInfo;
use apimachinery::request_notes::{RequestContent, SentObject};
use apimachinery::time::UnixTime;
use authentication::{Authenticator, TokenFile};
use authorization::config::Configuration;
use authorization::node::{self, Graph};
use authorization::rbac::Index;
use authorization::{Authorizer, AuthorizerDeps, Mode, Policies};
use component_base::clock::TestClock;
use component_base::metrics::MetricsRegistry;
use endpoints::cpu_pool::{CpuPool, POOL_WRITE_BYTES_MIN};
use endpoints::discovery::VersionInfo;
use endpoints::routing::dispatch::{Body, BoxError, Dispatch, InitializedFlag, Request, Response, Tunnel};

use crate::health::{Check, CheckError, CheckGroup, Health, NamedCheck, Ping};
use crate::metrics::{Metrics, ResourceLabels};
use crate::{Auditor, Chain, ChainOptions, Env, Fairness, Services, Traces, respond};

const PODS: ResourceLabels<'static> =
    ResourceLabels { group: "", version: "v1", resource: "pods", subresource: "" };

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Bytes that this thread has allocated and not freed.
pub(crate) fn allocated() -> i64 {
    let read = |bytes: u64| i64::try_from(bytes).unwrap_or(i64::MAX);
    let counter = |counter: tikv_jemalloc_ctl::Result<u64>| counter.map_or(0, read);
    counter(allocatedp::read().map(|bytes| bytes.get()))
        - counter(deallocatedp::read().map(|bytes| bytes.get()))
}

/// Current time in every test, in seconds since 1970.
pub(crate) const NOW: i64 = 1_800_000_000;

/// API whose behaviour depends on the last segment of the path.
#[derive(Default)]
pub(crate) struct Script {
    /// Number of received requests.
    pub(crate) started: AtomicUsize,
    /// Number of completed requests.
    pub(crate) finished: AtomicUsize,
    /// Number of completed requests whose clients had disconnected before.
    pub(crate) abandoned: AtomicUsize,
    /// Notified of each received request.
    pub(crate) entered: Notify,
    /// Lets one `wait` request continue.
    pub(crate) release: Arc<Notify>,
    /// Closes a `tunnel`.
    pub(crate) closes: Arc<Notify>,
    /// Number of produced pieces of an `endless` body.
    pub(crate) pieces: Arc<AtomicUsize>,
}

/// Recorded object of an `object` request.
pub(crate) const OBJECT: &str = r#"{"kind":"Pod","metadata":{"name":"a","uid":"u","managedFields":[1]}}"#;

/// Size of a piece of an `endless` body.
pub(crate) const PIECE_BYTES: usize = 16 * 1024;

#[async_trait]
impl Dispatch for Script {
    #[allow(clippy::panic)]
    async fn dispatch(&self, request: Request) -> Response {
        self.started.fetch_add(1, SeqCst);
        self.entered.notify_one();
        let last = request.context.info.path.rsplit('/').next().unwrap_or_default().to_owned();
        let response = match last.as_str() {
            "panic" => panic!("as the path says"),
            "hang" => std::future::pending().await,
            "wait" => {
                self.release.notified().await;
                self.abandoned.fetch_add(usize::from(request.context.client.is_disconnected()), SeqCst);
                respond::text(200, "waited")
            }
            "who" => respond::text(200, request.authorized.user().name.clone()),
            "headers" => {
                respond::text(200, format!("{:?}", request.parts.headers.keys().collect::<Vec<_>>()))
            }
            "object" => {
                let json = Some(Bytes::from_static(OBJECT.as_bytes()));
                let name = "a".to_owned();
                let uid = "u".to_owned();
                let object = SentObject { name, uid, json, ..SentObject::default() };
                request.context.notes.set_content(RequestContent::Object(object));
                respond::text(200, OBJECT)
            }
            "patch" => match request.body.collect().await {
                Ok(body) => {
                    request.context.notes.set_content(RequestContent::Patch(body.to_bytes()));
                    respond::text(200, "")
                }
                Err(error) => respond::text(500, error.to_string()),
            },
            "echo" => match request.body.collect().await {
                Ok(body) => respond::text(200, body.to_bytes()),
                Err(error) => respond::text(500, error.to_string()),
            },
            "endless" => {
                let pieces = Arc::clone(&self.pieces);
                streamed(futures::stream::repeat_with(move || {
                    pieces.fetch_add(1, SeqCst);
                    Ok(http_body::Frame::data(Bytes::from_static(&[0; PIECE_BYTES])))
                }))
            }
            "tunnel" => {
                let tunnel = Tunnel::default();
                let release = Arc::clone(&self.closes);
                let open = tunnel.guard();
                tokio::spawn(async move {
                    release.notified().await;
                    drop(open);
                });
                let mut response = respond::text(101, "");
                response.extensions_mut().insert(tunnel);
                response
            }
            "watched" => watched(Arc::clone(&self.release)),
            "slow-body" => streamed(futures::stream::once(std::future::pending())),
            "panic-body" => streamed(futures::stream::once(async { panic!("as the path says") })),
            _ => respond::text(200, "dispatched"),
        };
        self.finished.fetch_add(1, SeqCst);
        response
    }

    fn stored_bytes(&self, info: &RequestInfo) -> usize {
        if info.path.ends_with("/large") { POOL_WRITE_BYTES_MIN + 1 } else { 0 }
    }
}

fn streamed(
    frames: impl futures::Stream<Item = Result<http_body::Frame<Bytes>, BoxError>> + Send + 'static,
) -> Response {
    Response::new(StreamBody::new(frames).boxed_unsync())
}

/// Watch that pauses in its initial state until `release`, and then has no more events.
fn watched(release: Arc<Notify>) -> Response {
    let initialized = InitializedFlag::default();
    let done = initialized.clone();
    let initial = futures::stream::once(async move {
        release.notified().await;
        done.set();
        Ok(http_body::Frame::data(Bytes::from_static(b"initial")))
    });
    let mut response = streamed(initial.chain(futures::stream::pending()));
    response.extensions_mut().insert(initialized);
    response
}

/// Chain in front of `script`, with the tokens `master` (administrator), `ann` and `bob`.
pub(crate) fn chain(script: &Arc<Script>, modes: &[Mode], options: ChainOptions) -> Arc<Chain> {
    traced_chain(script, modes, options, None)
}

/// Authorizer for the modes, without roles, nodes, policies and webhook.
fn authorizer(modes: &[Mode]) -> Arc<dyn Authorizer> {
    let features = node::Features { service_accounts: true, pod_certificates: true, volume_health: true };
    let policy = node::Policy { rules: Vec::new(), features };
    let means = AuthorizerDeps {
        roles: Some(Arc::new(Index::default())),
        nodes: Some((Arc::new(Graph::default()), policy)),
        policies: Some(Policies::default()),
        connect: Box::new(|_| Err(authorization::Error::Connect("there is no webhook".to_owned()))),
        clock: Arc::new(TestClock::default()),
        metrics: Arc::default(),
    };
    #[allow(clippy::unwrap_used)]
    Arc::new(means.authorizer(&Configuration::of_modes(modes, None)).unwrap())
}

/// As [`chain`], traced by `traces`.
pub(crate) fn traced_chain(
    script: &Arc<Script>,
    modes: &[Mode],
    options: ChainOptions,
    traces: Option<Traces>,
) -> Arc<Chain> {
    observed_chain(script, modes, options, Observers { traces, ..Observers::default() })
}

/// As [`chain`], audited by `auditor`.
pub(crate) fn audited_chain(script: &Arc<Script>, modes: &[Mode], auditor: Auditor) -> Arc<Chain> {
    let observers = Observers { auditor: Some(Arc::new(auditor)), ..Observers::default() };
    observed_chain(script, modes, ChainOptions::default(), observers)
}

/// As [`chain`], with flow control; all users are authorized.
pub(crate) fn fair_chain(script: &Arc<Script>, fairness: Arc<Fairness>, options: ChainOptions) -> Arc<Chain> {
    let observers = Observers { fairness: Some(fairness), ..Observers::default() };
    observed_chain(script, &[Mode::AlwaysAllow], options, observers)
}

/// Optional parts of a chain.
#[derive(Default)]
struct Observers {
    traces: Option<Traces>,
    auditor: Option<Arc<Auditor>>,
    fairness: Option<Arc<Fairness>>,
}

fn observed_chain(
    script: &Arc<Script>,
    modes: &[Mode],
    options: ChainOptions,
    observers: Observers,
) -> Arc<Chain> {
    let Observers { traces, auditor, fairness } = observers;
    let tokens = "master,root,1,\"system:masters\"\nann,ann,2\nbob,bob,3\n";
    #[allow(clippy::unwrap_used)]
    let tokens = TokenFile::parse("tokens", tokens).unwrap();
    let group = || {
        let sick: Arc<dyn Check> =
            Arc::new(NamedCheck("sick".into(), || async { Err(CheckError::new("a secret")) }));
        CheckGroup::new(vec![Arc::new(Ping), sick])
    };
    #[allow(clippy::unwrap_used)]
    let cpu_pool = CpuPool::start(NonZeroUsize::MIN, &tokio::runtime::Handle::current(), || {}).unwrap();
    let registry = MetricsRegistry::default();
    let services = Services {
        authenticator: Authenticator {
            tokens: vec![Arc::new(tokens)],
            anonymous: authentication::Anonymous::AllPaths,
            ..Authenticator::default()
        },
        authorizer: authorizer(modes),
        dispatch: Arc::clone(script) as Arc<dyn Dispatch>,
        cpu_pool,
        api_paths: Arc::new(|| vec!["/api".to_owned(), "/version".to_owned()]),
        health: Arc::new(Health {
            healthz: CheckGroup::new(vec![Arc::new(Ping)]),
            livez: CheckGroup::new(vec![Arc::new(Ping)]),
            readyz: group(),
        }),
        metrics: Arc::new(Metrics::new(&registry, VersionInfo::of_this_build(), NOW, [PODS])),
        registry,
        traces,
        auditor,
        fairness,
    };
    Chain::new(services, options, env())
}

/// Stopped clock, and randomness that always returns 7.
pub(crate) fn env() -> Env {
    let clock = TestClock::at(UnixTime { seconds: NOW, nanos: 0 });
    Env { clock: Arc::new(clock), random: Arc::new(|bytes| bytes.fill(7)) }
}

/// Creates a request with headers given as `name: value`.
pub(crate) fn request(method: &str, target: &str, headers: &[&str]) -> http::Request<Body> {
    let mut builder = http::Request::builder().method(method).uri(target);
    for header in headers {
        if let Some((name, value)) = header.split_once(": ") {
            builder = builder.header(name, value);
        }
    }
    #[allow(clippy::unwrap_used)]
    builder.body(respond::empty()).unwrap()
}

/// Timeout for waits whose duration does not affect the result.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);
