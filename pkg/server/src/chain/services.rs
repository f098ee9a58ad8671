//! Services and options of the handler chain.

use std::sync::Arc;
use std::time::Duration;

use authentication::Authenticator;
use authorization::Authorizer;
use component_base::features::Gates;
use component_base::metrics::MetricsRegistry;
use endpoints::cpu_pool::CpuPool;
use endpoints::routing::dispatch::Dispatch;
use http::header::HeaderValue;
use tokio_util::sync::CancellationToken;

use crate::chain::audit::Auditor;
use crate::chain::trace::Traces;
use crate::health::Health;
use crate::limits::flow::Fairness;
use crate::limits::inflight::InflightLimits;
use crate::limits::memory::MemoryBudget;
use crate::metrics::Metrics;
use crate::pages::options::PageOptions;

/// Services that the chain uses.
pub struct Services {
    pub authenticator: Authenticator,
    pub authorizer: Arc<dyn Authorizer>,
    /// Handler of authorized requests.
    pub dispatch: Arc<dyn Dispatch>,
    /// CPU pool for expensive writes.
    pub cpu_pool: CpuPool,
    /// Returns the paths that `dispatch` serves, to be listed at `/`.
    pub api_paths: Arc<dyn Fn() -> Vec<String> + Send + Sync>,
    pub health: Arc<Health>,
    pub metrics: Arc<Metrics>,
    /// All metrics of the server, for `/metrics`.
    pub registry: MetricsRegistry,
    /// Tracing; `None` if disabled.
    pub traces: Option<Traces>,
    /// Audit; `None` if disabled.
    pub auditor: Option<Arc<Auditor>>,
    /// API Priority and Fairness; `None` to use only [the limits](ChainOptions::inflight).
    pub fairness: Option<Arc<Fairness>>,
}

#[derive(Debug, Clone)]
pub struct ChainOptions {
    /// `--request-timeout`: maximum duration of a request that is not long-running.
    pub request_timeout: Duration,
    /// Limits on concurrent requests, used without [fairness](Services::fairness).
    pub inflight: InflightLimits,
    /// `--goaway-chance`: probability that an HTTP/2 request closes its connection with GOAWAY. 0 to 0.02.
    pub goaway_chance: f64,
    /// `--strict-transport-security-directives`, joined; `None` for no header.
    pub hsts: Option<HeaderValue>,
    /// Cancelled when clients must reconnect.
    pub disconnecting: CancellationToken,
    /// Cancelled when new requests must be rejected with a retry, so that they go to another server.
    pub rejecting: CancellationToken,
    /// Memory budget of requests.
    pub memory: MemoryBudget,
    /// Enabled feature gates.
    pub gates: Gates,
    /// Additional pages besides health and metrics.
    pub pages: PageOptions,
}

impl Default for ChainOptions {
    fn default() -> Self {
        ChainOptions {
            request_timeout: Duration::from_secs(60),
            inflight: InflightLimits::default(),
            goaway_chance: 0.0,
            hsts: None,
            disconnecting: CancellationToken::new(),
            rejecting: CancellationToken::new(),
            memory: MemoryBudget::default(),
            gates: Gates::default(),
            pages: PageOptions::default(),
        }
    }
}
