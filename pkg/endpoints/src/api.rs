//! The parts that the API is made of. Requests come in through `routing::router`.

use std::sync::Arc;
use std::time::Duration;

use admission::Chain;
use apimachinery::status::Status;
use authentication::Authenticator;
use authentication::service_account::Issuer;
use authorization::Authorizer;
use authorization::rbac::IndexSource;
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
use crate::routing::dispatch::BoxError;
use crate::routing::served::ServedApi;
use crate::watch::drain::WatchDrain;
pub use crate::watch::metrics::WatchMetrics;
use crate::write_barrier::WriteBarrier;

/// Documents that do not depend on the served resources, at paths that name no resource.
pub trait Documents: Send + Sync + 'static {
    /// Returns the response, or `None` if the path is not one of this document's.
    fn respond(&self, request: &http::request::Parts) -> Option<Result<http::Response<Bytes>, Status>>;
}

/// Parts of the API handler.
pub struct Api {
    pub registry: Registry,
    pub admission: Chain,
    /// Authorizer for SubjectAccessReviews; shared with the chain.
    pub authorizer: Arc<dyn Authorizer>,
    /// Resolves the permissions of a user, for the escalation check of roles and role bindings.
    pub roles: Arc<dyn IndexSource>,
    /// Authenticator for TokenReviews; shared with the chain.
    pub authenticator: Authenticator,
    /// Issuer of service account tokens; `None` without a signing key.
    pub token_requests: Option<TokenRequests>,
    /// Served resources with the documents that describe them.
    pub served: Arc<ServedApi>,
    /// Other documents, tried in order.
    pub documents: Vec<Box<dyn Documents>>,
    /// Enabled object encodings.
    pub formats: Formats,
    /// Minimum duration of a watch without a timeout; the actual duration is up to twice that.
    pub watch_timeout_min: Duration,
    /// Uniformly distributed in `0..1`, for watch timeouts.
    pub jitter: Arc<dyn Fn() -> f64 + Send + Sync>,
    /// Cache of compressed lists that clients have requested more than once.
    pub compressed_lists: CompressedLists,
    pub watch_metrics: Arc<WatchMetrics>,
    pub deprecated_requests: Arc<DeprecatedRequests>,
    /// Connections to kubelets, pods and the endpoints of Services.
    pub backends: Backends,
    /// Connections to aggregated API servers.
    pub aggregation: Aggregation,
    /// Proxy to other API servers of this cluster, which may serve resources that this one does not; `None`
    /// if disabled.
    pub peers: Option<Arc<PeerProxy>>,
    /// Delays writes until a condition holds; `None` for no delay.
    pub write_barrier: Option<Arc<dyn WriteBarrier>>,
    /// CPU pool for expensive reads.
    pub cpu_pool: CpuPool,
    /// Health check of the store.
    pub storage_health: Arc<dyn Fn() -> BoxFuture<'static, Result<(), BoxError>> + Send + Sync>,
    /// Ends watches when the server stops.
    pub watch_drain: WatchDrain,
    /// Ends all other long-running requests at shutdown.
    pub shutdown: CancellationToken,
}

/// Issues service account tokens.
#[derive(Clone)]
pub struct TokenRequests {
    pub issuer: Issuer,
    /// Default audiences: those of this API.
    pub api_audiences: Vec<String>,
    /// `--service-account-max-token-expiration` in seconds; 0 for no limit.
    pub lifetime_max: i64,
    /// `--service-account-extend-token-expiration`.
    pub extend: bool,
    /// Maximum lifetime of an extended token, in seconds; never more than a year.
    pub extended_max: i64,
    /// Randomness for token ids.
    pub entropy: Arc<dyn Entropy>,
}
