//! Roles and their bindings (upstream's `plugin/pkg/auth/authorizer/rbac` and
//! `pkg/registry/rbac/validation`): what they let a user do, and whether he may hand it on.
//!
//! ```text
//! stored roles, bindings ── changes ──▶ Index ◀── asks ── Rbac (authorizer)
//!                                         ▲
//!                                         └── asks ── escalation (before a role or binding is written)
//! ```

mod covers;
pub mod escalation;
mod index;
mod roles;
mod rule;

use std::collections::HashSet;
use std::sync::Arc;

use apimachinery::user_info::UserInfo;
use async_trait::async_trait;

pub use covers::{TooMany, missing};
pub use index::{Binding, Index, RoleKind, RoleRef, Subject};
pub use rule::Rule;

use crate::{Attributes, Authorizer, Decision, PathRule, ResourceRule, Rules};

/// Where the current [`Index`] is.
pub trait Roles: Send + Sync + 'static {
    /// Has `look` look at it, once.
    fn look(&self, look: &mut dyn FnMut(&Index));
}

/// Roles that never change: none, or those of a test.
impl Roles for Index {
    fn look(&self, look: &mut dyn FnMut(&Index)) {
        look(self);
    }
}

/// What `look` sees in the current index.
fn read<T>(roles: &dyn Roles, look: impl FnOnce(&Index) -> T) -> Option<T> {
    let (mut look, mut seen) = (Some(look), None);
    roles.look(&mut |index| {
        if let Some(look) = look.take() {
            seen = Some(look(index));
        }
    });
    seen
}

/// `--authorization-mode RBAC`.
pub struct Rbac(pub Arc<dyn Roles>);

#[async_trait]
impl Authorizer for Rbac {
    async fn decide(&self, attributes: Attributes<'_>) -> Decision {
        let decided = read(&*self.0, |index| decide(index, &attributes));
        decided.unwrap_or(Decision::NoOpinion(String::new()))
    }

    async fn rules(&self, user: &UserInfo, namespace: &str) -> Rules {
        read(&*self.0, |index| listed(index, user, namespace)).unwrap_or_default()
    }
}

/// What the roles say of a request. The first binding that lets it pass is the reason; what roles are missing is
/// said only if none does.
pub fn decide(index: &Index, attributes: &Attributes<'_>) -> Decision {
    let allows = |rules: &[Rule]| rules.iter().any(|rule| rule.allows(attributes));
    let mut any_missing = false;
    for grant in index.grants(attributes.user, attributes.namespace) {
        match index.granted(grant) {
            Some(rules) if allows(rules) => return Decision::Allow(grant.reason.clone()),
            Some(_) => {}
            None => any_missing = true,
        }
    }
    Decision::NoOpinion(match any_missing {
        true => format!("RBAC: {}", aggregate(&unresolved(index, attributes.user, attributes.namespace))),
        false => String::new(),
    })
}

/// The rules that apply to a user in a namespace, and what is wrong with the others.
fn rules_of<'i>(index: &'i Index, user: &UserInfo, namespace: &str) -> (Vec<&'i Rule>, Vec<String>) {
    let mut seen = HashSet::new();
    let bindings = index.grants(user, namespace).filter(|grant| seen.insert(grant.identity()));
    let rules = bindings.filter_map(|grant| index.granted(grant)).flatten().collect();
    (rules, unresolved(index, user, namespace))
}

/// A text about each role that is bound to a user and cannot be found.
fn unresolved(index: &Index, user: &UserInfo, namespace: &str) -> Vec<String> {
    let mut seen: HashSet<String> = HashSet::new();
    let missing = index.grants(user, namespace).filter(|grant| index.granted(grant).is_none());
    missing.map(|grant| grant.role.not_found()).filter(|text| seen.insert(text.clone())).collect()
}

fn listed(index: &Index, user: &UserInfo, namespace: &str) -> Rules {
    let (rules, errors) = rules_of(index, user, namespace);
    let mut listed = Rules { error: aggregate(&errors), ..Rules::default() };
    for rule in rules {
        if !rule.resources.is_empty() {
            listed.resources.push(ResourceRule {
                verbs: rule.verbs.clone(),
                groups: rule.groups.clone(),
                resources: rule.resources.clone(),
                names: rule.names.clone(),
            });
        }
        if !rule.paths.is_empty() {
            listed.paths.push(PathRule { verbs: rule.verbs.clone(), paths: rule.paths.clone() });
        }
    }
    listed
}

/// Several errors as one text, as upstream joins them.
fn aggregate(errors: &[String]) -> String {
    match errors {
        [] => String::new(),
        [one] => one.clone(),
        many => format!("[{}]", many.join(", ")),
    }
}

#[cfg(test)]
mod tests;
