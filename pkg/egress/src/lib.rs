//! Egress proxies, configured by `--egress-selector-config-file`: for each of three networks a direct
//! connection, HTTP CONNECT or konnectivity's gRPC (apiserver's `server/egressselector`).
//!
//! A client of a server in a [`Network`] gets the [`client::Dialer`] from [`Egress`].

mod config;
mod connect;
mod error;
mod metrics;
mod proxy;
#[cfg(test)]
mod testing;
mod tunnel;

use std::path::Path;
use std::sync::Arc;

use client::DialPath;
use component_base::metrics::MetricsRegistry;

use config::EgressSelectorConfiguration;
use metrics::DialMetrics;
use proxy::Proxy;

pub use error::Error;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network {
    /// The control plane's network: authentication, authorization and audit webhooks, webhooks with a URL,
    /// trace collectors.
    ControlPlane,
    /// etcd's network.
    Etcd,
    /// The cluster's network: kubelets, pods, Services of webhooks and aggregated API servers.
    Cluster,
}

impl Network {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Network::ControlPlane => "controlplane",
            Network::Etcd => "etcd",
            Network::Cluster => "cluster",
        }
    }

    fn from_name(name: &str) -> Option<Self> {
        let all = [Network::ControlPlane, Network::Etcd, Network::Cluster];
        all.into_iter().find(|network| network.name().eq_ignore_ascii_case(name))
    }
}

/// Source of unpredictable numbers that identify dial requests to a proxy.
pub type Random = Arc<dyn Fn() -> i64 + Send + Sync>;

/// The egress selections of a configuration. The default has no configuration: every connection is direct.
/// Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Egress(Option<Arc<SelectedPaths>>);

#[derive(Debug)]
struct SelectedPaths {
    dial_paths: Vec<(Network, DialPath)>,
    metrics: Arc<DialMetrics>,
}

impl Egress {
    /// Reads the configuration and the files that it references. Blocks on file I/O; opens no connection.
    ///
    /// # Errors
    /// Upstream's error message.
    pub fn read(path: &Path, random: &Random) -> Result<Self, Error> {
        let text = std::fs::read(path).map_err(|error| {
            let shown = path.display().to_string();
            let cause = client::go_io_error_text(&error);
            let message = format!(
                "failed to read egress selector config: unable to read egress selector configuration from {shown:?} [open {shown}: {cause}]"
            );
            Error::File { message, source: error }
        })?;
        Self::parse(&text, random)
    }

    fn parse(text: &[u8], random: &Random) -> Result<Self, Error> {
        let config = EgressSelectorConfiguration::read(text)
            .map_err(|error| Error::Invalid(format!("failed to read egress selector config: {error}")))?;
        if let Some(error) = config.validate() {
            return Err(Error::Invalid(format!("failed to validate egress selector configuration: {error}")));
        }
        let Some(selections) = config.egress_selections else { return Ok(Egress::default()) };
        let metrics = Arc::<DialMetrics>::default();
        let mut dial_paths = Vec::new();
        for selection in selections {
            // Validation rejects other names.
            let Some(network) = Network::from_name(&selection.name) else { continue };
            let dial_path = Proxy::new_dial_path(&selection.connection, &metrics, random).map_err(|error| {
                let name = network.name();
                format!(
                    "failed to setup egress selector: failed to create dialer for egressSelection {name:?}: {error}"
                )
            }).map_err(crate::Error::Invalid)?;
            dial_paths.push((network, dial_path));
        }
        Ok(Egress(Some(Arc::new(SelectedPaths { dial_paths, metrics }))))
    }

    pub fn is_configured(&self) -> bool {
        self.0.is_some()
    }

    /// The selection for a network; `None` if the configuration has none.
    pub fn dial_path(&self, network: Network) -> Option<&DialPath> {
        let dial_paths = &self.0.as_ref()?.dial_paths;
        dial_paths.iter().find(|(configured, _)| *configured == network).map(|(_, dial_path)| dial_path)
    }

    /// The proxy's dialer for a network; `None` for direct connections.
    pub fn dialer(&self, network: Network) -> Option<client::Dialer> {
        match self.dial_path(network)? {
            DialPath::Direct => None,
            DialPath::Proxy(dialer) => Some(Arc::clone(dialer)),
        }
    }

    /// Registers the metrics of proxy connections.
    pub fn register(&self, registry: &MetricsRegistry) {
        if let Some(selected) = &self.0 {
            selected.metrics.register(registry);
        }
    }
}
