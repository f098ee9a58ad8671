//! Process-wide state that the parts of a server share.

use std::path::PathBuf;
use std::sync::Arc;

use authorization::Authorizer;
use component_base::metrics::MetricsRegistry;
use component_base::weakened::WeakenedDecisions;
use endpoints::cpu_pool::CpuPool;
use endpoints::watch::drain::WatchDrain;
use tokio_util::sync::CancellationToken;

use crate::loopback::Loopback;
use crate::template::Template;
use controllers::tasks::Tasks;

/// Process-wide dependencies of the API.
pub(crate) struct ProcessContext {
    /// Ends watches at shutdown.
    pub(crate) watch_drain: WatchDrain,
    /// Ends upgraded connections at shutdown.
    pub(crate) shutdown: CancellationToken,
    /// CA files for client certificates.
    pub(crate) client_authorities: Vec<PathBuf>,
    /// PEM certificates that clients need to trust this server.
    pub(crate) ca_certificates: Arc<str>,
    /// Background tasks.
    pub(crate) tasks: Tasks,
    /// Authorizer that replaces the configured modes.
    pub(crate) authorizer: Option<Arc<dyn Authorizer>>,
    /// Thread pool for CPU-heavy requests.
    pub(crate) cpu_pool: CpuPool,
    /// Memory limit of the process in bytes.
    pub(crate) memory_limit: Option<u64>,
    /// Credentials of the server for requests to itself.
    pub(crate) loopback: Loopback,
    /// Metrics of the server.
    pub(crate) metrics: MetricsRegistry,
    /// Weakened decisions of the server.
    pub(crate) weakened: WeakenedDecisions,
    /// Metrics of webhook calls.
    pub(crate) webhooks: Arc<client::webhook::ClientMetrics>,
    /// State of the parent server; `None` unless this is a fork.
    pub(crate) template: Option<Arc<Template>>,
}

impl ProcessContext {
    pub(crate) fn monitoring(&self) -> Monitoring<'_> {
        Monitoring { metrics: &self.metrics, weakened: &self.weakened }
    }
}

/// Destinations of what a component reports.
#[derive(Clone, Copy)]
pub(crate) struct Monitoring<'a> {
    pub(crate) metrics: &'a MetricsRegistry,
    pub(crate) weakened: &'a WeakenedDecisions,
}
