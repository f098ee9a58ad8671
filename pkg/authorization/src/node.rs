//! `--authorization-mode Node`: what kubelets may do (upstream's `plugin/pkg/auth/authorizer/node`). A node reads what
//! the pods that are bound to it refer to, and no more; the rest are rules that hold for all nodes.
//!
//! ```text
//! stored pods, volumes, … ── changes ──▶ Graph ◀── asks ── NodeAuthorizer
//! ```

mod decide;
mod graph;
mod interner;

use std::sync::Arc;

use apimachinery::user_info::UserInfo;
use async_trait::async_trait;

pub use decide::decide;
pub use graph::{Graph, Owned, PodUse, Vertex, VolumeUse};

use crate::rbac::Rule;
use crate::{Attributes, Authorizer, Decision, LoadFuture, Rules};

/// The group that all nodes are in.
const GROUP_NODES: &str = "system:nodes";
/// What the user names of nodes begin with.
const USER_PREFIX: &str = "system:node:";

/// The name of the node that a user is, which may be empty; `None` for whoever is no node (upstream's
/// `nodeidentifier`).
pub fn node_of(user: &UserInfo) -> Option<&str> {
    let name = user.name.strip_prefix(USER_PREFIX)?;
    user.in_group(GROUP_NODES).then_some(name)
}

/// Where the current [`Graph`] is.
pub trait Graphs: Send + Sync + 'static {
    /// Done when the graph has everything that is stored, or it is not worth waiting for any longer; `None` if nobody has to
    /// wait. Who decides by it waits first.
    fn filling(&self) -> Option<LoadFuture<'_>> {
        None
    }

    /// Has `look` look at it, once.
    fn look(&self, look: &mut dyn FnMut(&Graph));
}

/// A graph that never changes.
impl Graphs for Graph {
    fn look(&self, look: &mut dyn FnMut(&Graph)) {
        look(self);
    }
}

/// What feature gates decide about nodes.
#[derive(Debug, Clone, Copy)]
pub struct Features {
    /// Nodes may read only their own pods and Node (`AuthorizeNodeWithSelectors`).
    pub selectors: bool,
    /// Nodes may read the service accounts of their pods (`KubeletServiceAccountTokenForCredentialProviders` or
    /// `PodCertificateRequest`).
    pub service_accounts: bool,
    /// Nodes may ask for the certificates of their pods (`PodCertificateRequest`).
    pub pod_certificates: bool,
}

/// What holds for all nodes.
#[derive(Debug, Clone)]
pub struct Policy {
    /// For everything that is not decided by the graph.
    pub rules: Vec<Rule>,
    /// What feature gates decide.
    pub features: Features,
}

/// The authorizer.
pub struct NodeAuthorizer {
    graph: Arc<dyn Graphs>,
    policy: Policy,
}

impl NodeAuthorizer {
    /// Decides by a policy and the graph that is current.
    pub fn new(graph: Arc<dyn Graphs>, policy: Policy) -> Self {
        NodeAuthorizer { graph, policy }
    }
}

#[async_trait]
impl Authorizer for NodeAuthorizer {
    async fn decide(&self, attributes: Attributes<'_>) -> Decision {
        let mut decision = None;
        // Most users are no nodes: the graph is looked at for those that are.
        if node_of(attributes.user).is_some() {
            if let Some(filling) = self.graph.filling() {
                filling.await;
            }
            self.graph.look(&mut |graph| decision = Some(decide(graph, &self.policy, &attributes)));
        }
        decision.unwrap_or(Decision::NoOpinion(String::new()))
    }

    async fn rules(&self, user: &UserInfo, _: &str) -> Rules {
        match node_of(user) {
            Some(_) => Rules {
                error: "node authorizer does not support user rule resolution".to_owned(),
                ..Rules::unknown()
            },
            None => Rules::default(),
        }
    }
}

#[cfg(test)]
mod tests;
