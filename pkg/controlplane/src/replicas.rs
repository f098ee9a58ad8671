//! Coordination between the servers of a cluster, behind feature gates: leader election, storage versions,
//! addresses of servers, and request proxying.

use std::sync::Arc;

use ::api::catalog::Catalog;
use component_base::features::Gate;
use component_base::metrics::MetricsRegistry;
use egress::Network;
use endpoints::peers::PeerProxy;
use endpoints::write_barrier::WriteBarrier;
use futures::future::BoxFuture;
use registry::Registry;
use storage::Storage;

use crate::config::{Config, ServerRole};
use crate::error::RunError;
use crate::system;
use controllers::hook::PostStartHook;
use controllers::identity_lease;
use controllers::leader_election::{Election, ElectionOptions, LeaderElection};
use controllers::loopback_client::LoopbackClient;
use controllers::peers::{PeerAddress, PeerProxyOptions, PeerProxyParts};
use controllers::storage_versions::StorageVersions;
use controllers::tasks::Tasks;

/// The enabled parts of the coordination.
#[derive(Default)]
pub(crate) struct Replicas {
    /// Background tasks. They run as long as requests are served.
    pub(crate) run: Vec<BoxFuture<'static, ()>>,
    /// Work at shutdown, while the server still serves. Bounded in time.
    pub(crate) before_stop: Vec<BoxFuture<'static, ()>>,
    pub(crate) hooks: Vec<PostStartHook>,
    /// Request proxying to other servers, if enabled.
    pub(crate) peers: Option<Arc<PeerProxy>>,
    /// Barrier for early writes.
    pub(crate) write_barrier: Option<Arc<dyn WriteBarrier>>,
}

impl Replicas {
    /// Creates everything that gates and configuration enable. Leader election writes through `itself`.
    ///
    /// # Errors
    /// A requirement is not served or not configured.
    pub(crate) fn new(
        config: &Config,
        registry: &Registry,
        storage: Arc<dyn Storage>,
        catalog: &Catalog,
        client: LoopbackClient,
        tasks: &Tasks,
        metrics: &MetricsRegistry,
    ) -> Result<Self, RunError> {
        let mut replicas = Replicas::default();
        let gates = config.gates;
        if gates.enabled(Gate::CoordinatedLeaderElection)
            && let Some(election) = LeaderElection::for_registry(
                registry,
                catalog,
                tasks,
                ElectionOptions {
                    client,
                    times: config.leadership,
                    identity: format!("{}_{}", config.host_name, system::uid()),
                    clock: system::clock(),
                },
                metrics,
            )?
        {
            let Election { run, shutdown, hook } = election;
            replicas.run.push(run);
            replicas.before_stop.push(shutdown);
            replicas.hooks.push(hook);
        }
        if gates.enabled(Gate::StorageVersionAPI) {
            let releases = gates.effective();
            let versions =
                StorageVersions::new(registry, catalog, releases, identity_lease::name(&config.host_name))?;
            replicas.write_barrier = Some(versions.barrier());
            replicas.hooks.push(versions.hook(tasks));
        }
        if gates.enabled(Gate::UnknownVersionInteroperabilityProxy) && config.role == ServerRole::Member {
            replicas.start_peers(config, registry, storage, tasks, metrics)?;
        }
        Ok(replicas)
    }

    /// Publishes this server's address and discovers the others.
    fn start_peers(
        &mut self,
        config: &Config,
        registry: &Registry,
        storage: Arc<dyn Storage>,
        tasks: &Tasks,
        metrics: &MetricsRegistry,
    ) -> Result<(), RunError> {
        let address = Arc::new(PeerAddress::new(
            &config.host_name,
            config.peer_address()?,
            config.storage.prefix(),
            Arc::clone(&storage),
        )?);
        self.hooks.push(address.hook(tasks));
        self.before_stop.push(Box::pin(async move { address.remove_at_shutdown().await }));
        if config.peers.authority.is_some() {
            let options = PeerProxyOptions {
                host_name: config.host_name.clone(),
                prefix: config.storage.prefix().to_owned(),
                certificate: config.aggregation.certificate.clone(),
                authority: config.peers.authority.clone(),
                dialer: config.egress.dialer(Network::ControlPlane),
            };
            let PeerProxyParts { proxy, run, hooks } =
                PeerProxyParts::new(options, registry, storage, metrics)?;
            self.peers = Some(proxy);
            self.run.push(run);
            self.hooks.extend(hooks);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
