//! What authorizers decide by, and how they are made.

use std::fmt;
use std::sync::Arc;

use component_base::clock::Clock;

use crate::config::{AuthorizerConfig, Configuration, WebhookConfiguration};
use crate::figures::Figures;
use crate::node::{Graphs, NodeAuthorizer, Policy};
use crate::rbac::{Rbac, Roles};
use crate::webhook::{Caller, Webhook};
use crate::{AlwaysAllow, AlwaysDeny, Authorizer, MastersOnly, Member, Policies, Union};

/// An authorization mode of upstream's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// Everyone may do everything.
    AlwaysAllow,
    /// Nobody may do anything.
    AlwaysDeny,
    /// A file of policies.
    Abac,
    /// An external service.
    Webhook,
    /// Roles and bindings.
    Rbac,
    /// What kubelets may do.
    Node,
}

impl Mode {
    /// All of them, as upstream lists them.
    pub const ALL: [Mode; 6] =
        [Mode::AlwaysAllow, Mode::AlwaysDeny, Mode::Abac, Mode::Webhook, Mode::Rbac, Mode::Node];

    /// The mode that flags and files call `name`.
    pub fn parse(name: &str) -> Option<Self> {
        Mode::ALL.into_iter().find(|mode| mode.name() == name)
    }

    /// What flags and files call it.
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

    /// What metrics call an authorizer that nobody gave another name.
    pub fn default_name(self) -> String {
        self.name().to_ascii_lowercase()
    }
}

/// The way to a webhook.
pub type Connect = Box<dyn Fn(&WebhookConfiguration) -> Result<Arc<dyn Caller>, String> + Send + Sync>;

/// What authorizers decide by. What is missing cannot be used.
pub struct AuthorizerDeps {
    /// For RBAC.
    pub roles: Option<Arc<dyn Roles>>,
    /// For Node.
    pub nodes: Option<(Arc<dyn Graphs>, Policy)>,
    /// For ABAC.
    pub policies: Option<Policies>,
    /// For Webhook.
    pub connect: Connect,
    /// By which answers are remembered.
    pub clock: Arc<dyn Clock>,
    /// Where decisions are counted.
    pub figures: Arc<Figures>,
}

impl AuthorizerDeps {
    /// The authorizers of a configuration as one: `system:masters` first, then each in order.
    ///
    /// # Errors
    /// Something that cannot be used, in upstream's words.
    pub fn authorizer(&self, config: &Configuration) -> Result<Union, String> {
        let mut members = vec![Member { authorizer: Arc::new(MastersOnly), series: None }];
        for configured in &config.authorizers {
            let series = self.figures.series(configured.mode.name(), &configured.name);
            let authorizer = self.one(configured)?;
            members.push(Member { authorizer, series: Some(series) });
        }
        Ok(Union::of_members(members))
    }

    fn one(&self, configured: &AuthorizerConfig) -> Result<Arc<dyn Authorizer>, String> {
        let name = configured.mode.name();
        let missing = || {
            format!("authorizer type {name} is not allowed if it was not enabled at initial server startup")
        };
        Ok(match configured.mode {
            Mode::AlwaysAllow => Arc::new(AlwaysAllow),
            Mode::AlwaysDeny => Arc::new(AlwaysDeny),
            Mode::Abac => Arc::new(self.policies.clone().ok_or_else(missing)?),
            Mode::Rbac => Arc::new(Rbac(self.roles.clone().ok_or_else(missing)?)),
            Mode::Node => {
                let (graph, policy) = self.nodes.clone().ok_or_else(missing)?;
                Arc::new(NodeAuthorizer::new(graph, policy))
            }
            Mode::Webhook => {
                let webhook = configured.webhook.as_ref().ok_or("a webhook without configuration")?;
                let series = self.figures.series(name, &configured.name);
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
