//! Roles at stable positions. Bindings store these positions, so a decision needs no look-up by role name.

use std::collections::HashMap;
use std::sync::Arc;

use super::Rule;
use super::role_ref::{RoleKind, RoleRef};

/// All existing or referenced roles.
#[derive(Debug, Clone, Default)]
pub(super) struct Roles {
    entries: Vec<RoleEntry>,
    /// Free positions.
    free: Vec<usize>,
    /// Positions by namespace and name. Cluster roles have the empty namespace.
    positions: HashMap<Box<str>, HashMap<Box<str>, usize>>,
}

/// The rules of a role.
#[derive(Debug, Clone)]
pub(super) struct RoleRules {
    pub(super) rules: Arc<[Rule]>,
    /// Number of strings in the rules.
    pub(super) texts: usize,
}

impl From<Vec<Rule>> for RoleRules {
    fn from(rules: Vec<Rule>) -> Self {
        RoleRules { texts: rules.iter().map(Rule::texts).sum(), rules: rules.into() }
    }
}

#[derive(Debug, Clone, Default)]
struct RoleEntry {
    namespace: Box<str>,
    name: Box<str>,
    /// `None` if the role does not exist.
    granted: Option<RoleRules>,
    /// Number of bindings that refer to the role.
    bindings: usize,
}

impl Roles {
    /// Updates a role. `None` if it is deleted.
    pub(super) fn set(&mut self, namespace: &str, name: &str, rules: Option<Vec<Rule>>) {
        let at = self.find_or_insert(namespace, name);
        if let Some(place) = self.entries.get_mut(at) {
            place.granted = rules.map(RoleRules::from);
        }
        self.free_if_unused(at);
    }

    /// Adds a reference from a binding and returns the role's position; `None` for an impossible role.
    pub(super) fn add_reference(&mut self, role: &RoleRef) -> Option<usize> {
        let at = self.find_or_insert(namespace_of(role.kind?, &role.namespace)?, &role.name);
        self.entries.get_mut(at)?.bindings += 1;
        Some(at)
    }

    /// Removes a reference from a binding.
    pub(super) fn forget(&mut self, at: usize) {
        if let Some(place) = self.entries.get_mut(at) {
            place.bindings = place.bindings.saturating_sub(1);
        }
        self.free_if_unused(at);
    }

    /// Returns the position of an existing or referenced role.
    pub(super) fn find(&self, kind: RoleKind, namespace: &str, name: &str) -> Option<usize> {
        self.positions.get(namespace_of(kind, namespace)?)?.get(name).copied()
    }

    /// Returns the rules at a position.
    pub(super) fn get(&self, at: usize) -> Option<&RoleRules> {
        self.entries.get(at)?.granted.as_ref()
    }

    fn find_or_insert(&mut self, namespace: &str, name: &str) -> usize {
        if let Some(at) = self.positions.get(namespace).and_then(|named| named.get(name)) {
            return *at;
        }
        let place = RoleEntry { namespace: namespace.into(), name: name.into(), ..RoleEntry::default() };
        let at = match self.free.pop() {
            Some(at) => at,
            None => {
                self.entries.push(RoleEntry::default());
                self.entries.len() - 1
            }
        };
        if let Some(free) = self.entries.get_mut(at) {
            *free = place;
        }
        self.positions.entry(namespace.into()).or_default().insert(name.into(), at);
        at
    }

    /// Frees an unused position.
    fn free_if_unused(&mut self, at: usize) {
        let Some(place) = self.entries.get_mut(at) else { return };
        if place.granted.is_some() || place.bindings > 0 {
            return;
        }
        let RoleEntry { namespace, name, .. } = std::mem::take(place);
        self.free.push(at);
        if let Some(named) = self.positions.get_mut(&namespace) {
            named.remove(&name);
            if named.is_empty() {
                self.positions.remove(&namespace);
            }
        }
        if self.positions.is_empty() {
            *self = Roles::default();
        }
    }
}

/// Returns the namespace of a referenced role; `None` for a Role without a namespace. Such a role cannot
/// exist and must not match a cluster role with the same name.
fn namespace_of(kind: RoleKind, namespace: &str) -> Option<&str> {
    match kind {
        RoleKind::ClusterRole => Some(""),
        RoleKind::Role => Some(namespace).filter(|namespace| !namespace.is_empty()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reference(namespace: &str, name: &str) -> RoleRef {
        RoleRef {
            kind: Some(RoleKind::Role),
            kind_text: "Role".into(),
            name: name.into(),
            namespace: namespace.into(),
        }
    }

    #[test]
    fn binding_finds_role_created_later() {
        let mut roles = Roles::default();
        let at = roles.add_reference(&reference("a", "r")).unwrap();
        assert!(roles.get(at).is_none());
        roles.set("a", "r", Some([Rule::default()].into()));
        assert_eq!(roles.get(at).map(|granted| granted.rules.len()), Some(1));
        roles.set("a", "r", None);
        assert!(roles.get(at).is_none());
    }

    #[test]
    fn role_without_namespace_is_not_cluster_role() {
        let mut roles = Roles::default();
        roles.set("", "admin", Some([Rule::default()].into()));
        assert_eq!(roles.add_reference(&reference("", "admin")), None);
        assert_eq!(roles.find(RoleKind::Role, "", "admin"), None);
        assert!(roles.find(RoleKind::ClusterRole, "a", "admin").is_some());
    }

    #[test]
    fn deleted_roles_and_bindings_free_their_positions() {
        let mut roles = Roles::default();
        for round in 0..100 {
            let name = format!("r{round}");
            roles.set("a", "stays", Some([Rule::default()].into()));
            roles.set("a", &name, Some([Rule::default()].into()));
            let at = roles.add_reference(&reference("a", &name)).unwrap();
            roles.set("a", &name, None);
            roles.forget(at);
        }
        assert_eq!((roles.entries.len(), roles.free.len(), roles.positions.len()), (2, 1, 1));
    }
}
