//! Restarts of a container: at its end (`restartPolicy`, `restartPolicyRules`; KEP-5307) and on resource
//! changes (`resizePolicy`; KEP-1287).

use super::super::options::PodOptions;
use crate::validation::value::{required_one_of, supported_value};
use api::tree::{child, children, is_set, list, maybe_text, text};
use apimachinery::field::{BadValue, Error, ErrorList, Path};
use schema::object::Object;
use std::collections::BTreeSet;

/// Limit of rules in a container.
const RULES_MAX: usize = 20;
/// Limit of exit codes in a rule.
const EXIT_CODES_MAX: usize = 255;

const POLICY_MISSING: &str = "must specify restartPolicy when restart rules are used";

/// Validates the restart policy of a regular container and its rules. `path` is that of the container.
pub(super) fn policy(container: &Object, options: &PodOptions, path: &Path<'_>, errors: &mut ErrorList) {
    if options.restart_rules {
        policy_and_rules(container, options, path, errors);
    } else if is_set(container, "restartPolicy") {
        errors.push(Error::forbidden(&path.child("restartPolicy"), "may not be set for non-init containers"));
    }
}

/// Validates the restart policy of a container and its rules. `path` is that of the container.
fn policy_and_rules(container: &Object, options: &PodOptions, path: &Path<'_>, errors: &mut ErrorList) {
    let rules = list(container, "restartPolicyRules");
    match maybe_text(container, "restartPolicy") {
        None if rules.is_empty() => return,
        None => errors.push(Error::required(&path.child("restartPolicy"), POLICY_MISSING)),
        Some(policy) => {
            supported_value(&path.child("restartPolicy"), policy, &["Always", "Never", "OnFailure"], errors);
        }
    }
    let path = path.child("restartPolicyRules");
    if rules.len() > RULES_MAX {
        errors.push(Error::too_many(&path, Some(rules.len()), Some(RULES_MAX)));
    }
    for (index, rule) in children(container, "restartPolicyRules").enumerate() {
        restart_rule(rule, options, &path.index(index), errors);
    }
}

/// Validates the restart policy of an init container, which is required for restart rules.
pub(super) fn init_policy(container: &Object, options: &PodOptions, path: &Path<'_>, errors: &mut ErrorList) {
    let has_rules = !list(container, "restartPolicyRules").is_empty();
    let Some(policy) = maybe_text(container, "restartPolicy") else {
        if has_rules {
            errors.push(Error::required(&path.child("restartPolicy"), POLICY_MISSING));
        }
        return;
    };
    if !options.restart_rules {
        supported_value(&path.child("restartPolicy"), policy, &["Always"], errors);
    } else if policy != "Always" || options.restart_of_all_containers {
        policy_and_rules(container, options, path, errors);
    } else if has_rules {
        let detail = "restartPolicyRules are not allowed for init containers with restart policy Always";
        errors.push(Error::forbidden(&path.child("restartPolicyRules"), detail));
    }
}

fn restart_rule(rule: &Object, options: &PodOptions, path: &Path<'_>, errors: &mut ErrorList) {
    let actions: &[&str] =
        if options.restart_of_all_containers { &["Restart", "RestartAllContainers"] } else { &["Restart"] };
    supported_value(&path.child("action"), text(rule, "action"), actions, errors);
    let path = path.child("exitCodes");
    let Some(codes) = child(rule, "exitCodes") else {
        errors.push(Error::required(&path, "must be specified"));
        return;
    };
    supported_value(&path.child("operator"), text(codes, "operator"), &["In", "NotIn"], errors);
    let count = list(codes, "values").len();
    if count > EXIT_CODES_MAX {
        errors.push(Error::too_many(&path.child("values"), Some(count), Some(EXIT_CODES_MAX)));
    }
}

/// Validates the resize policy of a container. Paths lack the index where upstream's do.
pub(super) fn resize_policy(
    container: &Object,
    restart_policy: &str,
    path: &Path<'_>,
    errors: &mut ErrorList,
) {
    let mut resources = BTreeSet::new();
    for (index, policy) in children(container, "resizePolicy").enumerate() {
        let resource = text(policy, "resourceName");
        let restart = text(policy, "restartPolicy");
        if !resources.insert(resource) {
            errors.push(Error::duplicate(&path.index(index), BadValue::json_text(resource)));
        }
        required_one_of(path, resource, &["cpu", "memory"], errors);
        required_one_of(path, restart, &["NotRequired", "RestartContainer"], errors);
        if restart_policy == "Never" && restart != "NotRequired" {
            let detail = "must be 'NotRequired' when pod `restartPolicy` is 'Never'";
            errors.push(Error::invalid(path, BadValue::json_text(restart), detail));
        }
    }
}

/// Checks that resizing does not restart an init container, which runs once. `path` is that of the container.
pub(super) fn no_restart_on_resize(container: &Object, path: &Path<'_>, errors: &mut ErrorList) {
    let path = path.child("resizePolicy");
    for (index, policy) in children(container, "resizePolicy").enumerate() {
        if text(policy, "restartPolicy") != "RestartContainer" {
            continue;
        }
        let detail = "must not be set to 'RestartContainer' for non-sidecar initContainers";
        let path = path.index(index);
        errors.push(Error::invalid(&path.child("restartPolicy"), "RestartContainer", detail));
    }
}
