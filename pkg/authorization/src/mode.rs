//! `--authorization-mode`: which authorizers are asked, in which order.

use std::sync::Arc;

use crate::node::{Graphs, NodeAuthorizer, Policy};
use crate::rbac::{Rbac, Roles};
use crate::{AlwaysAllow, AlwaysDeny, Authorizer, MastersOnly, Policies, Union};

/// An authorization mode of upstream's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
    /// The mode that the flag calls `name`.
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "AlwaysAllow" => Mode::AlwaysAllow,
            "AlwaysDeny" => Mode::AlwaysDeny,
            "ABAC" => Mode::Abac,
            "Webhook" => Mode::Webhook,
            "RBAC" => Mode::Rbac,
            "Node" => Mode::Node,
            _ => return None,
        })
    }

    /// The authorizer for a list of modes: `system:masters` first, then each mode in order. `means` has what they
    /// decide by.
    pub fn authorizer(modes: &[Mode], means: &Means) -> Arc<dyn Authorizer> {
        let mut authorizers: Vec<Arc<dyn Authorizer>> = vec![Arc::new(MastersOnly)];
        for mode in modes {
            match mode {
                Mode::AlwaysAllow => authorizers.push(Arc::new(AlwaysAllow)),
                Mode::AlwaysDeny => authorizers.push(Arc::new(AlwaysDeny)),
                Mode::Rbac => authorizers.push(Arc::new(Rbac(Arc::clone(&means.roles)))),
                Mode::Node => {
                    let (graph, policy) = (Arc::clone(&means.graph), means.nodes.clone());
                    authorizers.push(Arc::new(NodeAuthorizer::new(graph, policy)));
                }
                Mode::Abac => authorizers.push(Arc::new(means.policies.clone())),
                Mode::Webhook => {}
            }
        }
        Arc::new(Union::new(authorizers))
    }
}

/// What the modes decide by.
pub struct Means {
    /// For RBAC.
    pub roles: Arc<dyn Roles>,
    /// For Node.
    pub graph: Arc<dyn Graphs>,
    /// For Node, too.
    pub nodes: Policy,
    /// For ABAC.
    pub policies: Policies,
}
