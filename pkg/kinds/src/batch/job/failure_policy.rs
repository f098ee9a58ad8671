//! Pod failure policies of jobs (KEP-3329).

use crate::validation::value::{qualified_name, supported_value};
use api::tree::{child, children, list, maybe_text, text};
use apimachinery::field::{BadValue, Error, ErrorList, Path};
use apimachinery::go_quote::quote;
use jsontree::Value;
use schema::object::Object;
use std::collections::BTreeSet;

/// Limit of rules in a policy.
const RULES_MAX: usize = 20;
/// Limit of exit codes in a rule.
const EXIT_CODES_MAX: usize = 255;
/// Limit of condition patterns in a rule.
const PATTERNS_MAX: usize = 20;

const ACTIONS: &[&str] = &["Count", "FailIndex", "FailJob", "Ignore"];
const OPERATORS: &[&str] = &["In", "NotIn"];
const STATUSES: &[&str] = &["False", "True", "Unknown"];

/// Validates a policy. `path` is that of the policy, `spec` that of the job.
pub(super) fn failure_policy(path: &Path<'_>, policy: &Object, spec: &Object, errors: &mut ErrorList) {
    let path = path.child("rules");
    let count = list(policy, "rules").len();
    if count > RULES_MAX {
        errors.push(Error::too_many(&path, Some(count), Some(RULES_MAX)));
    }
    let pod = child(spec, "template").and_then(|template| child(template, "spec"));
    let lists = ["containers", "initContainers"];
    let containers =
        lists.into_iter().flat_map(|member| pod.into_iter().flat_map(move |pod| children(pod, member)));
    let containers: BTreeSet<&str> = containers.map(|container| text(container, "name")).collect();
    let per_index = spec.contains_key("backoffLimitPerIndex");
    for (index, rule) in children(policy, "rules").enumerate() {
        validate_rule(&path.index(index), rule, per_index, &containers, errors);
    }
}

fn validate_rule(
    path: &Path<'_>,
    rule: &Object,
    per_index: bool,
    containers: &BTreeSet<&str>,
    errors: &mut ErrorList,
) {
    let action_path = path.child("action");
    match text(rule, "action") {
        "FailIndex" if per_index => {}
        "FailIndex" => {
            let detail = "requires the backoffLimitPerIndex to be set";
            errors.push(Error::invalid(&action_path, "FailIndex", detail));
        }
        action => required_supported_value(&action_path, action, ACTIONS, errors),
    }
    let exit_codes = child(rule, "onExitCodes");
    if let Some(requirement) = exit_codes {
        on_exit_codes(&path.child("onExitCodes"), requirement, containers, errors);
    }
    on_pod_conditions(&path.child("onPodConditions"), rule, errors);
    let detail = match (exit_codes.is_some(), !list(rule, "onPodConditions").is_empty()) {
        (true, true) => "specifying both OnExitCodes and OnPodConditions is not supported",
        (false, false) => "specifying one of OnExitCodes and OnPodConditions is required",
        _ => return,
    };
    errors.push(Error::invalid(path, BadValue::Omitted, detail));
}

fn on_pod_conditions(path: &Path<'_>, rule: &Object, errors: &mut ErrorList) {
    let count = list(rule, "onPodConditions").len();
    if count > PATTERNS_MAX {
        errors.push(Error::too_many(path, Some(count), Some(PATTERNS_MAX)));
    }
    for (index, pattern) in children(rule, "onPodConditions").enumerate() {
        let path = path.index(index);
        qualified_name(&path.child("type"), text(pattern, "type"), errors);
        required_supported_value(&path.child("status"), text(pattern, "status"), STATUSES, errors);
    }
}

fn on_exit_codes(path: &Path<'_>, requirement: &Object, containers: &BTreeSet<&str>, errors: &mut ErrorList) {
    let operator = text(requirement, "operator");
    required_supported_value(&path.child("operator"), operator, OPERATORS, errors);
    if let Some(name) = maybe_text(requirement, "containerName").filter(|name| !containers.contains(name)) {
        let detail = "must be one of the container or initContainer names in the pod template";
        errors.push(Error::invalid(&path.child("containerName"), name, detail));
    }
    let path = path.child("values");
    let shown = requirement.get("values").map_or(BadValue::Plain("null".to_owned()), BadValue::from);
    let values: Vec<i64> = list(requirement, "values").iter().filter_map(Value::as_i64).collect();
    if values.is_empty() {
        errors.push(Error::invalid(&path, shown.clone(), "at least one value is required"));
    } else if values.len() > EXIT_CODES_MAX {
        errors.push(Error::too_many(&path, Some(values.len()), Some(EXIT_CODES_MAX)));
    }
    let mut seen = BTreeSet::new();
    for (index, value) in values.iter().enumerate() {
        if operator == "In" && *value == 0 {
            let detail = "must not be 0 for the In operator";
            errors.push(Error::invalid(&path.index(index), 0, detail));
        }
        if !seen.insert(*value) {
            errors.push(Error::duplicate(&path.index(index), *value));
        }
    }
    if !values.is_sorted() {
        errors.push(Error::invalid(&path, shown, "must be ordered"));
    }
}

/// Checks for a supported value. The error for an empty one lists the supported values.
fn required_supported_value(path: &Path<'_>, value: &str, supported: &[&str], errors: &mut ErrorList) {
    if value.is_empty() {
        let quoted: Vec<String> = supported.iter().map(|value| quote(value)).collect();
        errors.push(Error::required(path, format!("valid values: [{}]", quoted.join(" "))));
    } else {
        supported_value(path, value, supported, errors);
    }
}
