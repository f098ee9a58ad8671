//! Authorization modes, and the construction of authorizers.

use std::fmt;
use std::sync::Arc;

use component_base::clock::Clock;

use crate::config::{AuthorizerConfig, Configuration, WebhookConfiguration};
use crate::metrics::AuthorizerMetrics;
use crate::node::{GraphSource, NodeAuthorizer, Policy};
use crate::rbac::{IndexSource, Rbac};
use crate::webhook::{Caller, Webhook};
use crate::{AlwaysAllow, AlwaysDeny, Authorizer, Error, MastersOnly, Member, Policies, Union};

/// Authorization mode, as in upstream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    AlwaysAllow,
    AlwaysDeny,
    /// A file of policies.
    Abac,
    /// An external service.
    Webhook,
    /// Roles and bindings.
    Rbac,
    /// Permissions of kubelets.
    Node,
}

impl Mode {
    /// In upstream's order.
    pub const ALL: [Mode; 6] =
        [Mode::AlwaysAllow, Mode::AlwaysDeny, Mode::Abac, Mode::Webhook, Mode::Rbac, Mode::Node];

    /// Returns the mode with this name in flags and files.
    pub fn parse(name: &str) -> Option<Self> {
        Mode::ALL.into_iter().find(|mode| mode.name() == name)
    }

    /// Returns the name in flags and files.
    pub fn name(self) -> &'static str {
        match self {
            Mode::AlwaysAllow => "AlwaysAllow",
            Mode::AlwaysDeny => "AlwaysDeny",
            Mode::Abac => "ABAC",
            Mode::Webhook => "Webhook",
            Mode::Rbac => "RBAC",
            Mode::Node => "Node",
        }
    }

    /// Returns the default name of an authorizer in metrics.
    pub fn default_name(self) -> String {
        self.name().to_ascii_lowercase()
    }
}

/// Name of the authorizer of `system:masters`.
const MASTERS_NAME: &str = "kubernetes.io/system-privileged-group";

/// Factory for webhook clients.
pub type Connect = Box<dyn Fn(&WebhookConfiguration) -> Result<Arc<dyn Caller>, Error> + Send + Sync>;

/// Dependencies of authorizers. A mode with missing dependencies is unavailable.
pub struct AuthorizerDeps {
    /// For RBAC.
    pub roles: Option<Arc<dyn IndexSource>>,
    pub nodes: Option<(Arc<dyn GraphSource>, Policy)>,
    /// For ABAC.
    pub policies: Option<Policies>,
    /// For Webhook.
    pub connect: Connect,
    /// Clock for cached webhook responses.
    pub clock: Arc<dyn Clock>,
    pub metrics: Arc<AuthorizerMetrics>,
}

impl AuthorizerDeps {
    /// Builds the union of a configuration: `system:masters` first, then each authorizer in order.
    ///
    /// # Errors
    /// Upstream's message about an unusable authorizer.
    pub fn authorizer(&self, config: &Configuration) -> Result<Union, Error> {
        let masters = Arc::new(MastersOnly);
        let mut members = vec![Member { name: MASTERS_NAME.to_owned(), authorizer: masters, series: None }];
        for configured in &config.authorizers {
            let series = self.metrics.series(configured.mode.name(), &configured.name);
            let authorizer = self.build(configured)?;
            members.push(Member { name: configured.name.clone(), authorizer, series: Some(series) });
        }
        Ok(Union::new(members))
    }

    fn build(&self, configured: &AuthorizerConfig) -> Result<Arc<dyn Authorizer>, Error> {
        let name = configured.mode.name();
        let missing = || {
            format!("authorizer type {name} is not allowed if it was not enabled at initial server startup")
        };
        Ok(match configured.mode {
            Mode::AlwaysAllow => Arc::new(AlwaysAllow),
            Mode::AlwaysDeny => Arc::new(AlwaysDeny),
            Mode::Abac => Arc::new(self.policies.clone().ok_or_else(missing).map_err(Error::Invalid)?),
            Mode::Rbac => Arc::new(Rbac(self.roles.clone().ok_or_else(missing).map_err(Error::Invalid)?)),
            Mode::Node => {
                let (graph, policy) = self.nodes.clone().ok_or_else(missing).map_err(Error::Invalid)?;
                Arc::new(NodeAuthorizer::new(graph, policy))
            }
            Mode::Webhook => {
                let webhook = configured
                    .webhook
                    .as_ref()
                    .ok_or_else(|| Error::Invalid("a webhook without configuration".to_owned()))?;
                let series = self.metrics.series(name, &configured.name);
                let caller = (self.connect)(webhook)?;
                Arc::new(Webhook::new(caller, webhook.options.clone(), Arc::clone(&self.clock), series))
            }
        })
    }
}

impl fmt::Debug for AuthorizerDeps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Means").finish_non_exhaustive()
    }
}
