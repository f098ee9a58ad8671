//! The duties of a server in its cluster: what it does at start, and when it stops.

use std::path::PathBuf;
use std::sync::Arc;

use component_base::features::Gate;
use controllers::bootstrap::{flow_control, namespaces, priority_classes, roles};
use controllers::hook::PostStartHook;
use controllers::identity_lease::{IdentityLease, IdentityOptions};
use controllers::kubernetes_service::{KubernetesService, KubernetesServiceOptions};
use controllers::legacy_tokens::LegacyTokenTracking;
use controllers::service_cidr::DefaultServiceCidr;
use controllers::tasks::Tasks;
use futures::future::{BoxFuture, join, ready};
use registry::Registry;
use storage::Storage;

use crate::authentication_info::AuthenticationInfo;
use crate::config::{Config, ServerRole};
use crate::error::RunError;
use crate::system;

/// Startup and shutdown tasks.
pub(crate) struct StartupTasks {
    /// Start hooks. Each passes its periodic work to the [`Tasks`].
    pub(crate) hooks: Vec<PostStartHook>,
    /// Work at shutdown, while the server still serves: it removes its own entries from the cluster. Bounded
    /// in time.
    pub(crate) before_stop: BoxFuture<'static, ()>,
}

/// Builds all tasks. `client_authorities` are the CA files for client certificates.
///
/// # Errors
/// A required kind is not served.
pub(crate) fn startup_tasks(
    config: &Config,
    registry: &Registry,
    storage: Arc<dyn Storage>,
    client_authorities: Vec<PathBuf>,
    tasks: &Tasks,
) -> Result<StartupTasks, RunError> {
    let service = Arc::new(KubernetesService::new(kubernetes_service(config), registry, storage)?);
    let lease = config.gates.enabled(Gate::APIServerIdentity).then(|| identity_lease(config, registry));
    let lease = lease.transpose()?.map(Arc::new);
    let information = AuthenticationInfo::new(&config.authentication, client_authorities, registry)?;
    let cidr = DefaultServiceCidr::new(&config.services.cidrs, registry)?;
    let mut hooks = vec![
        namespaces(registry, tasks)?,
        Arc::new(information).hook(tasks),
        LegacyTokenTracking::new(registry)?.hook(tasks),
        roles(registry, &config.gates)?,
        priority_classes(registry)?,
        flow_control(registry, tasks)?,
        service.hook(tasks),
        Arc::new(cidr).hook(tasks),
    ];
    let is_member = config.role == ServerRole::Member;
    let lease = lease.filter(|_| is_member);
    hooks.extend(lease.iter().flat_map(|lease| [lease.hook(tasks), lease.collector_hook(tasks)]));
    if config.role == ServerRole::Fork {
        // Another server has already done this work, and its objects are part of the fork.
        hooks.iter_mut().for_each(|hook| hook.work = Box::pin(ready(Ok(()))));
    }
    let before_stop = Box::pin(async move {
        let lease = async {
            if let Some(lease) = lease {
                lease.remove_at_shutdown().await;
            }
        };
        if is_member {
            join(service.remove_at_shutdown(), lease).await;
        }
    });
    Ok(StartupTasks { hooks, before_stop })
}

fn kubernetes_service(config: &Config) -> KubernetesServiceOptions {
    KubernetesServiceOptions {
        address: config.advertise_address,
        port: config.serving.bind.address.port(),
        service_range: config.services.cidrs.first().copied(),
        node_port: config.services.kubernetes_node_port,
        reconciler: config.services.endpoint_reconciler,
        prefix: config.storage.prefix().to_owned(),
    }
}

fn identity_lease(config: &Config, registry: &Registry) -> Result<IdentityLease, RunError> {
    let meets = config.gates.enabled(Gate::UnknownVersionInteroperabilityProxy);
    let options = IdentityOptions {
        host_name: config.host_name.clone(),
        uid: system::uid(),
        peer_address: meets.then(|| config.peer_address()).transpose()?,
    };
    Ok(IdentityLease::new(options, registry)?)
}

#[cfg(test)]
mod tests;
