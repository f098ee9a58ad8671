//! `--authorization-mode Node`: permissions of kubelets (upstream's `plugin/pkg/auth/authorizer/node`). A
//! node may read only the objects that its pods refer to. All other permissions are rules common to all
//! nodes.
//!
//! ```text
//! stored pods, volumes, … ── changes ──▶ Graph ◀── reads ── NodeAuthorizer
//! ```

mod decide;
mod graph;
mod interner;

use std::sync::Arc;

use apimachinery::user_info::UserInfo;
use async_trait::async_trait;

pub use decide::decide;
pub use graph::{Graph, NodeOwnedKind, PodUse, Vertex, VolumeUse};

use crate::rbac::Rule;
use crate::{Attributes, Authorizer, Decision, LoadFuture, Rules};

const GROUP_NODES: &str = "system:nodes";
/// Prefix of the user names of nodes.
const USER_PREFIX: &str = "system:node:";

/// Returns the node name of a user, which may be empty; `None` for other users (upstream's `nodeidentifier`).
pub fn node_of(user: &UserInfo) -> Option<&str> {
    let name = user.name.strip_prefix(USER_PREFIX)?;
    user.in_group(GROUP_NODES).then_some(name)
}

/// Access to the current [`Graph`].
pub trait GraphSource: Send + Sync + 'static {
    /// Returns a future that completes when the graph is loaded or the wait limit is reached; `None` if there
    /// is nothing to wait for. Authorizers wait for it before each decision.
    fn start_loading(&self) -> Option<LoadFuture<'_>> {
        None
    }

    /// Calls `look` once with the graph.
    fn visit(&self, look: &mut dyn FnMut(&Graph));
}

/// A graph that never changes.
impl GraphSource for Graph {
    fn visit(&self, look: &mut dyn FnMut(&Graph)) {
        look(self);
    }
}

/// Feature gates of the node authorizer.
#[derive(Debug, Clone, Copy)]
pub struct Features {
    /// Nodes may read the service accounts of their pods (`KubeletServiceAccountTokenForCredentialProviders` or
    /// `PodCertificateRequest`).
    pub service_accounts: bool,
    /// Nodes may request certificates for their pods (`PodCertificateRequest`).
    pub pod_certificates: bool,
    /// Nodes may report the health of volumes in the status of their CSINode (`CSIVolumeHealth`).
    pub volume_health: bool,
}

/// Permissions of all nodes.
#[derive(Debug, Clone)]
pub struct Policy {
    /// Rules for everything that the graph does not decide.
    pub rules: Vec<Rule>,
    pub features: Features,
}

pub struct NodeAuthorizer {
    graph: Arc<dyn GraphSource>,
    policy: Policy,
}

impl NodeAuthorizer {
    /// Decides by `policy` and the current graph.
    pub fn new(graph: Arc<dyn GraphSource>, policy: Policy) -> Self {
        NodeAuthorizer { graph, policy }
    }
}

#[async_trait]
impl Authorizer for NodeAuthorizer {
    async fn decide(&self, attributes: Attributes<'_>) -> Decision {
        let mut decision = None;
        // Most users are not nodes and do not need the graph.
        if node_of(attributes.user).is_some() {
            if let Some(filling) = self.graph.start_loading() {
                filling.await;
            }
            self.graph.visit(&mut |graph| decision = Some(decide(graph, &self.policy, &attributes)));
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
