//! The parts that the API is made of. Requests come in through `routing::router`.

use std::sync::Arc;
use std::time::Duration;

use admission::Chain;
use apimachinery::status::Status;
use authentication::Authenticator;
use authentication::service_account::Issuer;
use authorization::Authorizer;
use authorization::rbac::Roles;
use bytes::Bytes;
use futures::future::BoxFuture;
use registry::{Entropy, Registry};
use tokio_util::sync::CancellationToken;

use crate::aggregated::Aggregation;
use crate::cpu_pool::CpuPool;
pub use crate::deprecated_requests::DeprecatedRequests;
use crate::negotiation::Formats;
use crate::peers::PeerProxy;
pub use crate::proxy::Backends;
pub use crate::response::compressed::CompressedLists;
use crate::routing::served::Served;
use crate::watch::drain::WatchDrain;
pub use crate::watch::metrics::WatchMetrics;
use crate::write_barrier::WriteBarrier;

/// Documents that do not depend on what is served: they answer paths that name no resource.
pub trait Documents: Send + Sync + 'static {
    /// The answer, or `None` when the path is not this one's.
    fn respond(&self, request: &http::request::Parts) -> Option<Result<http::Response<Bytes>, Status>>;
}

/// What the API is made of.
pub struct Api {
    /// The verbs.
    pub registry: Registry,
    /// What may be written.
    pub admission: Chain,
    /// Whom access reviews ask: the one that the chain asks.
    pub authorizer: Arc<dyn Authorizer>,
    /// What users hold who hand on rights by writing roles and bindings.
    pub roles: Arc<dyn Roles>,
    /// Whom token reviews ask: the one that the chain asks.
    pub authenticator: Authenticator,
    /// How tokens of service accounts are issued; `None` where nobody signs them.
    pub token_requests: Option<TokenRequests>,
    /// What is served, with the documents that describe it.
    pub served: Arc<Served>,
    /// Other documents; asked in order.
    pub documents: Vec<Box<dyn Documents>>,
    /// Which formats objects have.
    pub formats: Formats,
    /// Least time that a watch without a timeout lives; the actual one is up to twice that.
    pub watch_timeout_min: Duration,
    /// Uniformly distributed in `0..1`, for watch timeouts.
    pub jitter: Arc<dyn Fn() -> f64 + Send + Sync>,
    /// Compressed lists that were asked for more than once.
    pub compressed_lists: CompressedLists,
    /// What watches have sent.
    pub watch_metrics: Arc<WatchMetrics>,
    /// Which deprecated APIs were asked for.
    pub deprecated_requests: Arc<DeprecatedRequests>,
    /// How to get to kubelets, pods, and whatever stands behind Services.
    pub backends: Backends,
    /// How to get to API servers that answer for groups of their own.
    pub aggregation: Aggregation,
    /// Other servers of this cluster, which may serve what this one does not; `None` where nobody is asked.
    pub peers: Option<Arc<PeerProxy>>,
    /// Which writes have to wait; `None` for none.
    pub write_barrier: Option<Arc<dyn WriteBarrier>>,
    /// Where heavy reads are done.
    pub heavy: CpuPool,
    /// Whether the store answers.
    pub storage_health: Arc<dyn Fn() -> BoxFuture<'static, Result<(), String>> + Send + Sync>,
    /// Ends watches when the server stops.
    pub watch_drain: WatchDrain,
    /// Ends everything else that would go on for ever.
    pub shutdown: CancellationToken,
}

/// How tokens are issued.
#[derive(Clone)]
pub struct TokenRequests {
    /// Signs them.
    pub issuer: Issuer,
    /// Whom they are meant for unless the request says so: the names of this API.
    pub api_audiences: Vec<String>,
    /// `--service-account-max-token-expiration` in seconds; 0 for no limit.
    pub lifetime_max: i64,
    /// `--service-account-extend-token-expiration`.
    pub extend: bool,
    /// The longest that an extended token may live, in seconds; it is a year anyway.
    pub extended_max: i64,
    /// Where their ids come from.
    pub entropy: Arc<dyn Entropy>,
}
