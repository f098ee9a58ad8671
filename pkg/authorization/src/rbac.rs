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
mod long;
mod roles;
mod rule;

use std::collections::HashSet;
use std::sync::Arc;

use apimachinery::user_info::UserInfo;
use async_trait::async_trait;

pub use covers::{TooMany, missing};
pub use index::{Binding, Index, RoleKind, RoleRef, Subject};
pub use rule::Rule;

use crate::{Attributes, Authorizer, Decision, LoadFuture, PathRule, ResourceRule, Rules};
use long::LongDecision;

/// How many texts of rules are held against a request before others have their turn: less than a millisecond's work.
const YIELD_AFTER_STRINGS: usize = 50_000;
/// What a list of rules may take as JSON, about, in bytes. In memory it takes some twenty times as much while it is made,
/// and whoever may ask for it need not have any rights.
const LISTED_BYTES_MAX: usize = 2 * 1024 * 1024;

/// Where the current [`Index`] is.
pub trait Roles: Send + Sync + 'static {
    /// Done when the index has everything that is stored, or it is not worth waiting for any longer; `None` if nobody has to
    /// wait. Who decides by it waits first.
    fn filling(&self) -> Option<LoadFuture<'_>> {
        None
    }

    /// Has `look` look at it, once.
    fn look(&self, look: &mut dyn FnMut(&Index));
}

/// Roles that never change: none, or those of a test.
impl Roles for Index {
    fn look(&self, look: &mut dyn FnMut(&Index)) {
        look(self);
    }
}

/// Waits until the index has everything, where there is something to wait for.
async fn wait_until_loaded(roles: &dyn Roles) {
    if let Some(filling) = roles.filling() {
        filling.await;
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
        wait_until_loaded(&*self.0).await;
        let looked = read(&*self.0, |index| {
            decide_within(index, &attributes, YIELD_AFTER_STRINGS)
                .ok_or_else(|| LongDecision::of(index, &attributes))
        });
        match looked {
            None => Decision::NoOpinion(String::new()),
            Some(Ok(decision)) => decision,
            Some(Err(long)) => long.decide(attributes).await,
        }
    }

    async fn rules(&self, user: &UserInfo, namespace: &str) -> Rules {
        wait_until_loaded(&*self.0).await;
        read(&*self.0, |index| listed(index, user, namespace)).unwrap_or_default()
    }
}

/// What the roles say of a request. The first binding that lets it pass is the reason; what roles are missing is
/// said only if none does.
pub fn decide(index: &Index, attributes: &Attributes<'_>) -> Decision {
    decide_within(index, attributes, usize::MAX).unwrap_or(Decision::NoOpinion(String::new()))
}

/// As [`decide`]; `None` if more than so many texts would have to be looked at.
fn decide_within(index: &Index, attributes: &Attributes<'_>, texts_max: usize) -> Option<Decision> {
    let allows = |rules: &[Rule]| rules.iter().any(|rule| rule.allows(attributes));
    let (mut any_missing, mut texts) = (false, 0_usize);
    for grant in index.grants(attributes.user, attributes.namespace) {
        let Some(granted) = index.granted(grant) else {
            any_missing = true;
            continue;
        };
        texts = texts.saturating_add(granted.texts);
        if texts > texts_max {
            return None;
        }
        if allows(&granted.rules) {
            return Some(Decision::Allow(grant.reason.clone()));
        }
    }
    Some(if any_missing { no_opinion(index, attributes) } else { Decision::NoOpinion(String::new()) })
}

/// That nothing lets a request pass, and what roles are missing.
fn no_opinion(index: &Index, attributes: &Attributes<'_>) -> Decision {
    let missing = unresolved(index, attributes.user, attributes.namespace);
    Decision::NoOpinion(if missing.is_empty() {
        String::new()
    } else {
        format!("RBAC: {}", aggregate(&missing))
    })
}

/// The rules that apply to a user in a namespace, and what is wrong with the others.
fn rules_of<'i>(index: &'i Index, user: &UserInfo, namespace: &str) -> (Vec<&'i Rule>, Vec<String>) {
    let mut seen = HashSet::new();
    let bindings = index.grants(user, namespace).filter(|grant| seen.insert(grant.identity()));
    let rules =
        bindings.filter_map(|grant| index.granted(grant)).flat_map(|granted| &*granted.rules).collect();
    (rules, unresolved(index, user, namespace))
}

/// A text about each role that is bound to a user and cannot be found.
fn unresolved(index: &Index, user: &UserInfo, namespace: &str) -> Vec<String> {
    let mut seen: HashSet<String> = HashSet::new();
    let missing = index.grants(user, namespace).filter(|grant| index.granted(grant).is_none());
    missing.map(|grant| grant.role.not_found()).filter(|text| seen.insert(text.clone())).collect()
}

fn listed(index: &Index, user: &UserInfo, namespace: &str) -> Rules {
    let (rules, mut errors) = rules_of(index, user, namespace);
    let (mut listed, mut room) = (Rules::default(), LISTED_BYTES_MAX);
    for rule in rules {
        let Some(left) = room.checked_sub(rule.bytes()) else {
            listed.incomplete = true;
            errors.push(format!("the rules take more than {LISTED_BYTES_MAX} bytes, some are left out"));
            break;
        };
        room = left;
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
    listed.error = aggregate(&errors);
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
