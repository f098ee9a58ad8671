//! References of bindings to roles.

use apimachinery::go_quote::quote;
use jsontree::Object;

/// Kind of a referenced role.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RoleKind {
    ClusterRole,
    /// In the namespace of the binding.
    Role,
}

/// The role reference of a binding.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RoleRef {
    /// `None` for an unknown kind.
    pub kind: Option<RoleKind>,
    /// The kind as written.
    pub kind_text: Box<str>,
    pub name: Box<str>,
    /// Namespace of the binding; empty for cluster role bindings.
    pub namespace: Box<str>,
}

impl RoleRef {
    /// Reads the role reference of a stored binding.
    pub fn of(binding: &Object, namespace: &str) -> Self {
        let text =
            |name: &str| binding.get("roleRef").and_then(|role| role.get(name)?.as_str()).unwrap_or("");
        let kind = match text("kind") {
            "ClusterRole" => Some(RoleKind::ClusterRole),
            "Role" => Some(RoleKind::Role),
            _ => None,
        };
        RoleRef {
            kind,
            kind_text: text("kind").into(),
            name: text("name").into(),
            namespace: namespace.into(),
        }
    }

    /// Returns upstream's message about a missing role.
    pub fn not_found(&self) -> String {
        let resource = match self.kind {
            Some(RoleKind::ClusterRole) => "clusterrole",
            Some(RoleKind::Role) => "role",
            None => return format!("unsupported role reference kind: {}", quote(&self.kind_text)),
        };
        format!("{resource}.rbac.authorization.k8s.io {} not found", quote(&self.name))
    }
}
