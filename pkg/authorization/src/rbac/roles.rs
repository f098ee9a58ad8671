//! Roles at places that bindings remember, so that nobody looks for a role by name when a request is judged.

use std::collections::HashMap;
use std::sync::Arc;

use super::Rule;
use super::index::{RoleKind, RoleRef};

/// The roles that exist or that bindings refer to.
#[derive(Debug, Clone, Default)]
pub(super) struct Roles {
    places: Vec<Place>,
    /// Of no role, to be used again.
    free: Vec<usize>,
    /// By namespace and name; cluster roles under the empty namespace.
    named: HashMap<Box<str>, HashMap<Box<str>, usize>>,
}

/// The rules of a role.
#[derive(Debug, Clone)]
pub(super) struct RoleRules {
    pub(super) rules: Arc<[Rule]>,
    /// How many texts they have.
    pub(super) texts: usize,
}

impl From<Vec<Rule>> for RoleRules {
    fn from(rules: Vec<Rule>) -> Self {
        RoleRules { texts: rules.iter().map(Rule::texts).sum(), rules: rules.into() }
    }
}

#[derive(Debug, Clone, Default)]
struct Place {
    namespace: Box<str>,
    name: Box<str>,
    /// `None` while there is no such role.
    granted: Option<RoleRules>,
    /// How many bindings refer to it.
    bindings: usize,
}

impl Roles {
    /// Takes in a role as it is now, or that it is gone.
    pub(super) fn set(&mut self, namespace: &str, name: &str, rules: Option<Vec<Rule>>) {
        let at = self.place(namespace, name);
        if let Some(place) = self.places.get_mut(at) {
            place.granted = rules.map(RoleRules::from);
        }
        self.tidy(at);
    }

    /// The place of the role that another binding refers to; `None` for one that cannot exist.
    pub(super) fn refer(&mut self, role: &RoleRef) -> Option<usize> {
        let at = self.place(namespace_of(role.kind?, &role.namespace)?, &role.name);
        self.places.get_mut(at)?.bindings += 1;
        Some(at)
    }

    /// A binding no longer refers to the role at a place.
    pub(super) fn forget(&mut self, at: usize) {
        if let Some(place) = self.places.get_mut(at) {
            place.bindings = place.bindings.saturating_sub(1);
        }
        self.tidy(at);
    }

    /// Where a role is, if it exists or somebody refers to it.
    pub(super) fn find(&self, kind: RoleKind, namespace: &str, name: &str) -> Option<usize> {
        self.named.get(namespace_of(kind, namespace)?)?.get(name).copied()
    }

    /// The rules at a place.
    pub(super) fn at(&self, at: usize) -> Option<&RoleRules> {
        self.places.get(at)?.granted.as_ref()
    }

    fn place(&mut self, namespace: &str, name: &str) -> usize {
        if let Some(at) = self.named.get(namespace).and_then(|named| named.get(name)) {
            return *at;
        }
        let place = Place { namespace: namespace.into(), name: name.into(), ..Place::default() };
        let at = match self.free.pop() {
            Some(at) => at,
            None => {
                self.places.push(Place::default());
                self.places.len() - 1
            }
        };
        if let Some(free) = self.places.get_mut(at) {
            *free = place;
        }
        self.named.entry(namespace.into()).or_default().insert(name.into(), at);
        at
    }

    /// Gives up a place that nobody needs any more.
    fn tidy(&mut self, at: usize) {
        let Some(place) = self.places.get_mut(at) else { return };
        if place.granted.is_some() || place.bindings > 0 {
            return;
        }
        let Place { namespace, name, .. } = std::mem::take(place);
        self.free.push(at);
        if let Some(named) = self.named.get_mut(&namespace) {
            named.remove(&name);
            if named.is_empty() {
                self.named.remove(&namespace);
            }
        }
        if self.named.is_empty() {
            *self = Roles::default();
        }
    }
}

/// Where a role is looked for that a binding of `namespace` refers to; `None` for a role of no namespace, which cannot
/// exist and must not be taken for a cluster role of its name.
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
    fn a_binding_that_came_first_finds_its_role_when_it_comes() {
        let mut roles = Roles::default();
        let at = roles.refer(&reference("a", "r")).unwrap();
        assert!(roles.at(at).is_none());
        roles.set("a", "r", Some([Rule::default()].into()));
        assert_eq!(roles.at(at).map(|granted| granted.rules.len()), Some(1));
        roles.set("a", "r", None);
        assert!(roles.at(at).is_none());
    }

    #[test]
    fn a_role_without_a_namespace_is_no_cluster_role() {
        let mut roles = Roles::default();
        roles.set("", "admin", Some([Rule::default()].into()));
        assert_eq!(roles.refer(&reference("", "admin")), None);
        assert_eq!(roles.find(RoleKind::Role, "", "admin"), None);
        assert!(roles.find(RoleKind::ClusterRole, "a", "admin").is_some());
    }

    #[test]
    fn roles_and_bindings_that_came_and_went_leave_nothing() {
        let mut roles = Roles::default();
        for round in 0..100 {
            let name = format!("r{round}");
            roles.set("a", "stays", Some([Rule::default()].into()));
            roles.set("a", &name, Some([Rule::default()].into()));
            let at = roles.refer(&reference("a", &name)).unwrap();
            roles.set("a", &name, None);
            roles.forget(at);
        }
        assert_eq!((roles.places.len(), roles.free.len(), roles.named.len()), (2, 1, 1));
    }
}
