//! RBAC: permissions of users by roles and bindings, and the escalation check (upstream's
//! `plugin/pkg/auth/authorizer/rbac` and `pkg/registry/rbac/validation`).
//!
//! ```text
//! stored roles, bindings ── changes ──▶ Index ◀── reads ── Rbac (authorizer)
//!                                         ▲
//!                                         └── reads ── escalation (before a role or binding is written)
//! ```

pub mod escalation;
mod index;
mod long_decision;
mod role_ref;
mod roles;
mod rule;
mod rule_coverage;

use std::collections::HashSet;
use std::sync::Arc;

use apimachinery::user_info::UserInfo;
use async_trait::async_trait;

pub use index::{Binding, Index, Subject};
pub use role_ref::{RoleKind, RoleRef};
pub use rule::Rule;
pub use rule_coverage::{TooMany, missing};

use crate::{Attributes, Authorizer, Decision, LoadFuture, PathRule, ResourceRule, Rules};
use long_decision::LongDecision;

/// Number of rule strings to compare before yielding to other tasks: less than a millisecond of work.
const YIELD_AFTER_STRINGS: usize = 50_000;
/// Approximate maximum size in bytes of a rule list as JSON. It temporarily takes about twenty times as much
/// memory, and users without any permission may request it.
const LISTED_BYTES_MAX: usize = 2 * 1024 * 1024;

/// Access to the current [`Index`].
pub trait IndexSource: Send + Sync + 'static {
    /// Returns a future that completes when the index is loaded or the wait limit is reached; `None` if there
    /// is nothing to wait for. Authorizers wait for it before each decision.
    fn start_loading(&self) -> Option<LoadFuture<'_>> {
        None
    }

    /// Calls `look` once with the index.
    fn visit(&self, look: &mut dyn FnMut(&Index));
}

/// Roles that never change: none, or those of a test.
impl IndexSource for Index {
    fn visit(&self, look: &mut dyn FnMut(&Index)) {
        look(self);
    }
}

/// Waits until the index is loaded, if necessary.
async fn wait_until_loaded(roles: &dyn IndexSource) {
    if let Some(filling) = roles.start_loading() {
        filling.await;
    }
}

/// Returns the result of `look` on the current index.
fn read<T>(roles: &dyn IndexSource, look: impl FnOnce(&Index) -> T) -> Option<T> {
    let mut look = Some(look);
    let mut seen = None;
    roles.visit(&mut |index| {
        if let Some(look) = look.take() {
            seen = Some(look(index));
        }
    });
    seen
}

/// `--authorization-mode RBAC`.
pub struct Rbac(pub Arc<dyn IndexSource>);

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

/// Decides by roles. The first binding that allows the request is the reason. Missing roles are reported only
/// if no binding allows it.
pub fn decide(index: &Index, attributes: &Attributes<'_>) -> Decision {
    decide_within(index, attributes, usize::MAX).unwrap_or(Decision::NoOpinion(String::new()))
}

/// Like [`decide`]; `None` if that would compare more than `texts_max` strings.
fn decide_within(index: &Index, attributes: &Attributes<'_>, texts_max: usize) -> Option<Decision> {
    let allows = |rules: &[Rule]| rules.iter().any(|rule| rule.allows(attributes));
    let mut any_missing = false;
    let mut texts = 0_usize;
    for grant in index.grants(attributes.user, attributes.namespace) {
        let Some(granted) = index.rules_of_grant(grant) else {
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

/// Builds the decision for a request without a matching rule, with the missing roles.
fn no_opinion(index: &Index, attributes: &Attributes<'_>) -> Decision {
    let missing = missing_role_errors(index, attributes.user, attributes.namespace);
    Decision::NoOpinion(if missing.is_empty() {
        String::new()
    } else {
        format!("RBAC: {}", aggregate(&missing))
    })
}

/// Returns the rules of a user in a namespace, and errors about missing roles.
fn rules_of<'i>(index: &'i Index, user: &UserInfo, namespace: &str) -> (Vec<&'i Rule>, Vec<String>) {
    let mut seen = HashSet::new();
    let bindings = index.grants(user, namespace).filter(|grant| seen.insert(grant.identity()));
    let rules = bindings
        .filter_map(|grant| index.rules_of_grant(grant))
        .flat_map(|granted| &*granted.rules)
        .collect();
    (rules, missing_role_errors(index, user, namespace))
}

/// Returns an error for each missing role that is bound to the user.
fn missing_role_errors(index: &Index, user: &UserInfo, namespace: &str) -> Vec<String> {
    let mut seen: HashSet<String> = HashSet::new();
    let missing = index.grants(user, namespace).filter(|grant| index.rules_of_grant(grant).is_none());
    missing.map(|grant| grant.role.not_found()).filter(|text| seen.insert(text.clone())).collect()
}

fn listed(index: &Index, user: &UserInfo, namespace: &str) -> Rules {
    let (rules, mut errors) = rules_of(index, user, namespace);
    let mut listed = Rules::default();
    let mut bytes_left = LISTED_BYTES_MAX;
    for rule in rules {
        let Some(remaining) = bytes_left.checked_sub(rule.bytes()) else {
            listed.incomplete = true;
            errors.push(format!("the rules take more than {LISTED_BYTES_MAX} bytes, some are left out"));
            break;
        };
        bytes_left = remaining;
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

/// Joins errors as upstream does.
fn aggregate(errors: &[String]) -> String {
    match errors {
        [] => String::new(),
        [one] => one.clone(),
        many => format!("[{}]", many.join(", ")),
    }
}

#[cfg(test)]
mod tests;
