//! Who decides what users may do, as configured, and what it decides by.

use std::sync::Arc;

use ::api::catalog::Catalog;
use authorization::{Authorizer, Means, Mode, Policies};
use futures::future::BoxFuture;
use registry::Registry;
use server::metrics::Collector;

use crate::config::Config;
use crate::node_graph::{self, Nodes};
use crate::roles::StoredRoles;
use crate::run::RunError;

/// What decides, and what keeps it current.
pub(crate) struct Authorizers {
    /// The chain, reviews and admission all ask this one.
    pub(crate) authorizer: Arc<dyn Authorizer>,
    /// Roles and bindings.
    pub(crate) roles: StoredRoles,
    /// Its figures.
    pub(crate) collector: Option<Arc<dyn Collector>>,
    /// Done when everything is known that decisions are made by. Until then nobody has anything.
    pub(crate) ready: BoxFuture<'static, ()>,
    /// Keeps what decisions are made by current while it runs.
    pub(crate) followed: BoxFuture<'static, ()>,
}

impl Authorizers {
    /// Those that the configuration chooses, or `chosen` in place of them.
    ///
    /// # Errors
    /// A file that cannot be read or says nothing sensible.
    pub(crate) fn new(
        config: &Config,
        registry: &Registry,
        catalog: &Catalog,
        chosen: Option<Arc<dyn Authorizer>>,
    ) -> Result<Self, RunError> {
        let (roles, roles_followed) = StoredRoles::new(registry);
        let nodes = Nodes::new(config, registry, catalog);
        let means = Means {
            roles: roles.shared(),
            graph: nodes.graph(),
            nodes: node_graph::policy(config.gates).map_err(RunError::Bootstrap)?,
            policies: policies(config)?,
        };
        let authorizer = chosen.unwrap_or_else(|| Mode::authorizer(&config.authorization_modes, &means));
        let collector = nodes.collector();
        let (nodes_ready, nodes_followed) = nodes.split();
        let known = roles.clone();
        Ok(Authorizers {
            authorizer,
            roles,
            collector,
            ready: Box::pin(async move {
                tokio::join!(known.ready(), nodes_ready);
            }),
            followed: Box::pin(async move {
                tokio::join!(roles_followed.run(), nodes_followed);
            }),
        })
    }
}

/// The policies of the mode ABAC; none without a file.
fn policies(config: &Config) -> Result<Policies, RunError> {
    let Some(path) = &config.authorization_policy_file else { return Ok(Policies::default()) };
    let text = std::fs::read_to_string(path).map_err(|source| RunError::read(path, source))?;
    Policies::parse(&path.display().to_string(), &text).map_err(RunError::Configuration)
}
