//! Rules that select the requests for webhooks and policies.

use super::MATCH_POLICIES;
use crate::validation::selector::label_selector;
use crate::validation::value::{invalid_each, supported_value};
use api::tree::{child, children, list, maybe_text, texts};
use apimachinery::field::{BadValue, Error, ErrorList, Path};
use apimachinery::names;
use jsontree::Value;
use schema::object::Object;
use std::collections::BTreeSet;

const OPERATIONS: &[&str] = &["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
/// Operations with an object that can be mutated.
const MUTATING_OPERATIONS: &[&str] = &["*", "CONNECT", "CREATE", "UPDATE"];

/// Returns a list for an error.
fn listed(rule: &Object, member: &str) -> BadValue {
    rule.get(member).unwrap_or(&Value::Null).into()
}

/// Reports an empty list, or one with `*` and other items.
fn wildcard_alone(path: &Path<'_>, rule: &Object, member: &str, noun: &str, errors: &mut ErrorList) {
    let path = path.child(member);
    match list(rule, member).len() {
        0 => errors.push(Error::required(&path, "")),
        1 => {}
        _ if texts(rule, member).any(|value| value == "*") => {
            let detail = format!("if '*' is present, must not specify other {noun}");
            errors.push(Error::invalid(&path, listed(rule, member), detail));
        }
        _ => {}
    }
}

/// Validates a rule: operations, groups, versions and resources. `path` is that of the rule.
pub(super) fn rule_with_operations(path: &Path<'_>, rule: &Object, errors: &mut ErrorList) {
    wildcard_alone(path, rule, "operations", "operations", errors);
    let operations = path.child("operations");
    for (index, operation) in texts(rule, "operations").enumerate() {
        supported_value(&operations.index(index), operation, OPERATIONS, errors);
    }
    wildcard_alone(path, rule, "apiGroups", "API groups", errors);
    wildcard_alone(path, rule, "apiVersions", "API versions", errors);
    let versions = path.child("apiVersions");
    let empty = texts(rule, "apiVersions").enumerate().filter(|(_, version)| version.is_empty());
    errors.extend(empty.map(|(index, _)| Error::required(&versions.index(index), "")));
    resources(&path.child("resources"), rule, errors);
    if let Some(scope) = maybe_text(rule, "scope") {
        supported_value(&path.child("scope"), scope, &["*", "Cluster", "Namespaced"], errors);
    }
}

/// Validates resources with or without subresources. Items that a wildcard covers are not allowed.
fn resources(path: &Path<'_>, rule: &Object, errors: &mut ErrorList) {
    let count = list(rule, "resources").len();
    if count == 0 {
        errors.push(Error::required(path, ""));
    }
    let mut all_of_resource = BTreeSet::new();
    let mut all_with_subresource = BTreeSet::new();
    let mut plain = false;
    for (index, name) in texts(rule, "resources").enumerate() {
        let path = path.index(index);
        if name.is_empty() {
            errors.push(Error::required(&path, ""));
            continue;
        }
        let Some((resource, subresource)) = name.split_once('/') else {
            // In upstream, the last one counts.
            plain = name != "*";
            continue;
        };
        let covered = [
            (all_of_resource.contains(resource), format!("{resource}/*")),
            (all_with_subresource.contains(subresource), format!("*/{subresource}")),
        ];
        for (_, pattern) in covered.into_iter().filter(|(covered, _)| *covered) {
            let detail = format!("if '{pattern}' is present, must not specify {name}");
            errors.push(Error::invalid(&path, name, detail));
        }
        if subresource == "*" {
            all_of_resource.insert(resource);
        }
        if resource == "*" {
            all_with_subresource.insert(subresource);
        }
    }
    let contains = |pattern: &str| texts(rule, "resources").any(|name| name == pattern);
    if count > 1 && contains("*/*") {
        let detail = "if '*/*' is present, must not specify other resources";
        errors.push(Error::invalid(path, listed(rule, "resources"), detail));
    }
    if contains("*") && plain {
        let detail = "if '*' is present, must not specify other resources without subresources";
        errors.push(Error::invalid(path, listed(rule, "resources"), detail));
    }
}

/// Validates the match resources of a policy or a binding. `path` is that of the constraints.
pub(super) fn match_resources(path: &Path<'_>, constraints: &Object, errors: &mut ErrorList) {
    match maybe_text(constraints, "matchPolicy") {
        None => errors.push(Error::required(&path.child("matchPolicy"), "")),
        Some(policy) => supported_value(&path.child("matchPolicy"), policy, MATCH_POLICIES, errors),
    }
    for member in ["namespaceSelector", "objectSelector"] {
        let selector = child(constraints, member);
        if selector.is_none() {
            errors.push(Error::required(&path.child(member), ""));
        }
        label_selector(&path.child(member), selector, false, errors);
    }
    for member in ["resourceRules", "excludeResourceRules"] {
        let path = path.child(member);
        for (index, rule) in children(constraints, member).enumerate() {
            let path = path.index(index);
            resource_names(&path.child("resourceNames"), rule, errors);
            rule_with_operations(&path, rule, errors);
        }
    }
}

fn resource_names(path: &Path<'_>, rule: &Object, errors: &mut ErrorList) {
    let mut seen = BTreeSet::new();
    for (index, name) in texts(rule, "resourceNames").enumerate() {
        let path = path.index(index);
        invalid_each(&path, name, names::is_path_segment_name(name), errors);
        if !seen.insert(name) {
            errors.push(Error::duplicate(&path, name));
        }
    }
}

/// Checks that the rules select only operations with an object to mutate. `path` is that of the constraints.
pub(super) fn mutating_operations(path: &Path<'_>, constraints: &Object, errors: &mut ErrorList) {
    let path = path.child("resourceRules.operations");
    for rule in children(constraints, "resourceRules") {
        for operation in texts(rule, "operations") {
            supported_value(&path, operation, MUTATING_OPERATIONS, errors);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jsontree::json;

    fn check(changes: Value, expected: &[&str]) {
        let mut rule = json!({"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]});
        if let (Some(rule), Value::Object(changes)) = (rule.as_object_mut(), changes.clone()) {
            rule.extend(changes);
        }
        let mut errors = ErrorList::new();
        rule_with_operations(&Path::root("r"), rule.as_object().unwrap_or(&Object::new()), &mut errors);
        assert_eq!(errors.iter().map(Error::field).collect::<Vec<_>>(), expected, "{changes}");
    }

    #[test]
    fn a_wildcard_stands_alone() {
        check(json!({}), &[]);
        check(json!({"operations": ["*", "CREATE"]}), &["r.operations"]);
        check(json!({"operations": ["x"]}), &["r.operations[0]"]);
        check(
            json!({"apiGroups": [], "apiVersions": ["", "*"]}),
            &["r.apiGroups", "r.apiVersions", "r.apiVersions[0]"],
        );
        check(json!({"scope": "x"}), &["r.scope"]);
    }

    #[test]
    fn subresources_are_covered_once() {
        let resources = |list: &[&str], expected: &[&str]| check(json!({"resources": list}), expected);
        resources(&["*", "pods/status"], &[]);
        resources(&["*", "pods"], &["r.resources"]);
        // The order matters, as in upstream.
        resources(&["pods", "*"], &[]);
        resources(&["*/*", "pods/status"], &["r.resources"]);
        resources(&["pods/*", "pods/status"], &["r.resources[1]"]);
        resources(&["*/status", "pods/status", ""], &["r.resources[1]", "r.resources[2]"]);
        resources(&[], &["r.resources"]);
    }

    #[test]
    fn policies_have_match_resources() {
        let check = |constraints: Value, expected: &[&str]| {
            let mut errors = ErrorList::new();
            let constraints = constraints.as_object().cloned().unwrap_or_default();
            match_resources(&Path::root("m"), &constraints, &mut errors);
            mutating_operations(&Path::root("m"), &constraints, &mut errors);
            assert_eq!(errors.iter().map(Error::field).collect::<Vec<_>>(), expected);
        };
        check(json!({}), &["m.matchPolicy", "m.namespaceSelector", "m.objectSelector"]);
        let rule = json!({"operations": ["DELETE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"],
            "resourceNames": ["a", "a", "b/c"]});
        check(
            json!({"matchPolicy": "Exact", "namespaceSelector": {}, "objectSelector": {}, "resourceRules": [rule]}),
            &[
                "m.resourceRules[0].resourceNames[1]",
                "m.resourceRules[0].resourceNames[2]",
                "m.resourceRules.operations",
            ],
        );
    }
}
