//! Ways out of this machine that lead through proxies, as `--egress-selector-config-file` says: which of three
//! networks is reached directly, by HTTP CONNECT, or by the gRPC of konnectivity (apiserver's
//! `server/egressselector`).
//!
//! A way is a [`client::Dialer`]. Who calls somebody knows which [`Network`] that somebody is in, and asks
//! [`Egress`] for the way there.

mod config;
mod connect;
mod error;
mod figures;
mod proxy;
#[cfg(test)]
mod testing;
mod tunnel;

use std::path::Path;
use std::sync::Arc;

use client::DialPath;

use config::EgressSelectorConfiguration;
use figures::Figures;
use proxy::Proxy;

pub use error::Error;

/// A network that this server calls into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network {
    /// Where the control plane is: webhooks that authenticate, authorize and audit, webhooks that objects name by URL,
    /// collectors of spans.
    ControlPlane,
    /// Where the store is.
    Etcd,
    /// The cluster: kubelets, pods, Services with webhooks and API servers behind them.
    Cluster,
}

impl Network {
    /// The name that a configuration has for it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Network::ControlPlane => "controlplane",
            Network::Etcd => "etcd",
            Network::Cluster => "cluster",
        }
    }

    fn named(name: &str) -> Option<Self> {
        let all = [Network::ControlPlane, Network::Etcd, Network::Cluster];
        all.into_iter().find(|network| network.name().eq_ignore_ascii_case(name))
    }
}

/// Numbers that nobody can guess, for those who ask a proxy.
pub type Random = Arc<dyn Fn() -> i64 + Send + Sync>;

/// The ways that a configuration names. By default there is no configuration, and every way is direct. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Egress(Option<Arc<Selected>>);

#[derive(Debug)]
struct Selected {
    ways: Vec<(Network, DialPath)>,
    figures: Arc<Figures>,
}

impl Egress {
    /// Reads a file, and those that it names. Blocks on them. Nothing is connected.
    ///
    /// # Errors
    /// What upstream says of the files.
    pub fn read(path: &Path, random: &Random) -> Result<Self, Error> {
        let text = std::fs::read(path).map_err(|error| {
            let (shown, why) = (path.display().to_string(), client::words(&error));
            let message = format!(
                "failed to read egress selector config: unable to read egress selector configuration from {shown:?} [open {shown}: {why}]"
            );
            Error::File { message, source: error }
        })?;
        Self::parse(&text, random)
    }

    fn parse(text: &[u8], random: &Random) -> Result<Self, Error> {
        let config = EgressSelectorConfiguration::read(text)
            .map_err(|error| Error::Invalid(format!("failed to read egress selector config: {error}")))?;
        if let Some(error) = config.flaws() {
            return Err(Error::Invalid(format!("failed to validate egress selector configuration: {error}")));
        }
        let Some(selections) = config.egress_selections else { return Ok(Egress::default()) };
        let figures = Arc::<Figures>::default();
        let mut ways = Vec::new();
        for selection in selections {
            // Validation knows no other names.
            let Some(network) = Network::named(&selection.name) else { continue };
            let way = Proxy::way(&selection.connection, &figures, random).map_err(|error| {
                let name = network.name();
                format!(
                    "failed to setup egress selector: failed to create dialer for egressSelection {name:?}: {error}"
                )
            })?;
            ways.push((network, way));
        }
        Ok(Egress(Some(Arc::new(Selected { ways, figures }))))
    }

    /// Whether there is a configuration.
    pub fn is_configured(&self) -> bool {
        self.0.is_some()
    }

    /// The way into a network; `None` if the configuration does not name it.
    pub fn way(&self, network: Network) -> Option<&DialPath> {
        let ways = &self.0.as_ref()?.ways;
        ways.iter().find(|(known, _)| *known == network).map(|(_, way)| way)
    }

    /// The proxy on the way into a network; `None` if there is none.
    pub fn dialer(&self, network: Network) -> Option<client::Dialer> {
        match self.way(network)? {
            DialPath::Direct => None,
            DialPath::Through(dialer) => Some(Arc::clone(dialer)),
        }
    }

    /// Appends what is counted of connections through proxies, in the Prometheus text format.
    pub fn write(&self, out: &mut String) {
        if let Some(selected) = &self.0 {
            selected.figures.write(out);
        }
    }
}
