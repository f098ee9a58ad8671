//! Builds the configured authorizers and their data sources.

mod calls;
mod reload;

use std::path::Path;
use std::sync::Arc;

use authorization::{Authorizer, AuthorizerDeps, AuthorizerMetrics, Mode, Policies, Reloadable};
use egress::Network;
use endpoints::routing::served::ServedApi;
use futures::FutureExt;
use futures::future::{self, BoxFuture};
use registry::Registry;

use crate::config::{AuthorizationConfig, Config, ServerRole};
use crate::error::RunError;
use crate::node_graph::{self, Nodes};
use crate::process::{Monitoring, ProcessContext};
use crate::roles::StoredRoles;
use crate::system::SystemClock;
use controllers::tasks::Tasks;
use reload::FileReloader;

/// The authorizer with its data and background tasks.
pub(crate) struct Authorizers {
    /// Shared by the chain, access reviews and admission.
    pub(crate) authorizer: Arc<dyn Authorizer>,
    pub(crate) roles: StoredRoles,
    /// Completes when all data that decisions do not wait for is loaded. Until then no request is allowed by
    /// it.
    pub(crate) ready: BoxFuture<'static, ()>,
    /// Task that keeps the data up to date.
    pub(crate) background: BoxFuture<'static, ()>,
}

impl Authorizers {
    /// Builds the configured authorizers, or uses the one of the process instead. Webhook calls are counted
    /// in `webhooks`. Decision data may be compiled on demand.
    ///
    /// # Errors
    /// An unreadable or invalid file.
    pub(crate) fn new(
        config: &Config,
        registry: &Registry,
        served: &ServedApi,
        process: &ProcessContext,
        webhooks: &Arc<client::webhook::ClientMetrics>,
    ) -> Result<Self, RunError> {
        let later = || config.compiles_lazily().then(|| compile_delay(config, &process.tasks));
        let (roles, roles_followed) = StoredRoles::new(registry, later());
        let nodes = Nodes::new(config, registry, &served.now().catalog, later());
        let metrics = Arc::new(AuthorizerMetrics::new(&process.metrics, &process.weakened));
        nodes.register_metrics(&process.metrics);
        let deps = authorizer_deps(config, &roles, &nodes, metrics, webhooks)?;
        let (authorizer, reloader) = match process.authorizer.clone() {
            Some(chosen) => (chosen, None),
            None => build_authorizer(&config.authorization, deps, process.monitoring())?,
        };
        let (nodes_ready, nodes_followed) = nodes.split();
        let projected_roles = roles.clone();
        Ok(Authorizers {
            authorizer,
            roles,
            ready: Box::pin(async move {
                tokio::join!(projected_roles.ready(), nodes_ready);
            }),
            background: Box::pin(async move {
                let file_followed = async {
                    if let Some(reloader) = reloader {
                        reloader.run().await;
                    }
                };
                tokio::join!(roles_followed, nodes_followed, file_followed);
            }),
        })
    }
}

/// Completes when unused decision data is to be compiled: shortly after the start. Never for forks, because
/// there may be many and most of their users are administrators.
fn compile_delay(config: &Config, tasks: &Tasks) -> BoxFuture<'static, ()> {
    match config.role {
        ServerRole::Fork => future::pending().boxed(),
        _ => tasks.deferred().boxed(),
    }
}

/// Builds the dependencies of authorizers. As in upstream, modes that are missing at start cannot be added
/// later.
fn authorizer_deps(
    config: &Config,
    roles: &StoredRoles,
    nodes: &Nodes,
    metrics: Arc<AuthorizerMetrics>,
    webhooks: &Arc<client::webhook::ClientMetrics>,
) -> Result<AuthorizerDeps, RunError> {
    let has = |mode| config.authorization.configuration.has(mode);
    let policy = node_graph::policy(config.gates)?;
    let path = config.authorization.policy_file.as_deref();
    let webhooks = Arc::clone(webhooks);
    let dialer = config.egress.dialer(Network::ControlPlane);
    Ok(AuthorizerDeps {
        roles: has(Mode::Rbac).then(|| roles.shared()),
        nodes: nodes.graph().map(|graph| (graph, policy)),
        policies: has(Mode::Abac).then(|| policies(path.unwrap_or(Path::new("")))).transpose()?,
        connect: Box::new(move |webhook| calls::connect(webhook, dialer.as_ref(), &webhooks)),
        clock: Arc::new(SystemClock),
        metrics,
    })
}

/// Builds the authorizer of a configuration, and the task that reloads its file.
fn build_authorizer(
    config: &AuthorizationConfig,
    deps: AuthorizerDeps,
    monitoring: Monitoring<'_>,
) -> Result<(Arc<dyn Authorizer>, Option<FileReloader>), RunError> {
    let Some(file) = config.file.clone() else {
        return Ok((Arc::new(deps.authorizer(&config.configuration)?), None));
    };
    let reloadable = Reloadable::new(deps, config.configuration.clone(), file.text.clone())?;
    let reloadable = Arc::new(reloadable);
    let reloader = FileReloader::new(file, Arc::clone(&reloadable), monitoring);
    Ok((reloadable, Some(reloader)))
}

/// Reads the ABAC policies.
fn policies(path: &Path) -> Result<Policies, RunError> {
    let text = std::fs::read_to_string(path).map_err(|source| RunError::read(path, source))?;
    Ok(Policies::parse(&path.display().to_string(), &text)?)
}

#[cfg(test)]
mod tests;
