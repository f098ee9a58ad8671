//! Rules of evictions. Responders, requesters and the controller write one status, so the rules permit only the
//! transitions that the controller makes (upstream's `apis/lifecycle/validation`).

use super::responders::responders;
use super::targets::{Outcome, targets};
use crate::validation::NameRule;
use crate::validation::conditions::conditions;
use crate::validation::go_value::go_values;
use crate::validation::rules::{ContextRules, ValidationContext, metadata, metadata_update};
use api::tree::{child, children, text};
use apimachinery::field::{Error, ErrorList, Path};
use schema::builtin::IO_K8S_APIMACHINERY_PKG_APIS_META_V1_CONDITION as CONDITION;
use schema::object::Object;

pub(super) const RULES: ContextRules = ContextRules { create, update };

const EVICTED: &str = "TargetEvicted";
const FAILED: &str = "Failed";

fn create(new: &Object, _: &ValidationContext) -> ErrorList {
    metadata(new, true, NameRule::LongName)
}

fn update(subresource: &str, new: &Object, old: &Object, context: &ValidationContext) -> ErrorList {
    let mut errors = metadata_update(new, old);
    if subresource != "status" {
        return errors;
    }
    let empty = Object::new();
    let [status, old_status] = [new, old].map(|object| child(object, "status").unwrap_or(&empty));
    let path = Path::root("status");
    conditions(&path.child("conditions"), status, &mut errors);
    let outcome = outcome(&path.child("conditions"), status, old_status, &mut errors);
    let targets_path = path.child("targetResponders");
    targets(&targets_path, status, old_status, outcome, context.now, &mut errors);
    responders(&path.child("responders"), status, old_status, context.now, &mut errors);
    errors
}

/// Returns the outcome in the conditions. A true condition must stay; if it does not, it still counts.
fn outcome(path: &Path<'_>, status: &Object, old: &Object, errors: &mut ErrorList) -> Outcome {
    let mut is_evicted = is_true(status, EVICTED);
    let mut is_failed = is_true(status, FAILED);
    for before in children(old, "conditions").filter(|condition| text(condition, "status") == "True") {
        let kind = text(before, "type");
        let is_kept = condition(status, kind).is_some_and(|condition| {
            text(condition, "status") != "False" && text(condition, "reason") == text(before, "reason")
        });
        if is_kept || !matches!(kind, EVICTED | FAILED) {
            continue;
        }
        let value = go_values(&CONDITION, status.get("conditions"));
        errors.push(Error::invalid(path, value, format!("{kind} condition status cannot be reverted")));
        is_evicted |= kind == EVICTED;
        is_failed |= kind == FAILED;
    }
    Outcome { is_final: is_evicted || is_failed }
}

/// Returns the first condition of a type.
fn condition<'o>(status: &'o Object, kind: &str) -> Option<&'o Object> {
    children(status, "conditions").find(|condition| text(condition, "type") == kind)
}

fn is_true(status: &Object, kind: &str) -> bool {
    condition(status, kind).is_some_and(|condition| text(condition, "status") == "True")
}

#[cfg(test)]
mod tests;
