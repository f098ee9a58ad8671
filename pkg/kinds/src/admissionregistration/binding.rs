//! Bindings of admission policies: their match resources and parameters.

use super::rule::{match_resources, mutating_operations};
use crate::validation::rules::Rules;
use crate::validation::selector::label_selector;
use crate::validation::value::{dns_subdomain, invalid_each, supported_value};
use crate::validation::{NameRule, validate_object_meta};
use api::tree::{child, list, maybe_text, text, texts};
use apimachinery::field::{BadValue, Error, ErrorList, Path};
use apimachinery::names;
use jsontree::Value;
use schema::object::Object;
use std::collections::BTreeSet;

pub(crate) const VALIDATING_BINDINGS: Rules =
    Rules { create: validating, update: |_, new, _| validating(new) };
pub(crate) const MUTATING_BINDINGS: Rules = Rules { create: mutating, update: |_, new, _| mutating(new) };

const EXCLUSIVE: &str = "name and selector are mutually exclusive";

fn validating(binding: &Object) -> ErrorList {
    let mut errors = both(binding);
    let empty = Object::new();
    let spec = child(binding, "spec").unwrap_or(&empty);
    actions(&Path::root("spec.validationActions"), spec, &mut errors);
    errors
}

fn mutating(binding: &Object) -> ErrorList {
    let mut errors = both(binding);
    let matched = child(binding, "spec").and_then(|spec| child(spec, "matchResources"));
    if let Some(matched) = matched {
        mutating_operations(&Path::root("spec.matchResources"), matched, &mut errors);
    }
    errors
}

fn both(binding: &Object) -> ErrorList {
    let meta = Path::root("metadata");
    let mut errors = validate_object_meta(binding, false, NameRule::DnsSubdomain, &meta);
    let empty = Object::new();
    let path = Path::root("spec");
    let spec = child(binding, "spec").unwrap_or(&empty);
    match text(spec, "policyName") {
        "" => errors.push(Error::required(&path.child("policyName"), "")),
        name => dns_subdomain(&path.child("policyName"), name, &mut errors),
    }
    if let Some(param) = child(spec, "paramRef") {
        param_ref(&path.child("paramRef"), param, &mut errors);
    }
    if let Some(matched) = child(spec, "matchResources") {
        match_resources(&path.child("matchResources"), matched, &mut errors);
    }
    errors
}

fn param_ref(path: &Path<'_>, param: &Object, errors: &mut ErrorList) {
    let name = text(param, "name");
    let selector = child(param, "selector");
    if !name.is_empty() {
        invalid_each(&path.child("name"), name, names::is_path_segment_name(name), errors);
        if selector.is_some() {
            errors.push(Error::forbidden(&path.child("name"), EXCLUSIVE));
        }
    }
    label_selector(&path.child("selector"), selector, false, errors);
    match (name, selector) {
        ("", None) => errors.push(Error::required(path, "one of name or selector must be specified")),
        ("", Some(_)) | (_, None) => {}
        _ => errors.push(Error::forbidden(&path.child("selector"), EXCLUSIVE)),
    }
    let path = path.child("parameterNotFoundAction");
    match maybe_text(param, "parameterNotFoundAction") {
        None | Some("") => errors.push(Error::required(&path, "")),
        Some(action) => supported_value(&path, action, &["Deny", "Allow"], errors),
    }
}

fn actions(path: &Path<'_>, spec: &Object, errors: &mut ErrorList) {
    let mut seen = BTreeSet::new();
    for (index, action) in texts(spec, "validationActions").enumerate() {
        let path = path.index(index);
        supported_value(&path, action, &["Audit", "Deny", "Warn"], errors);
        if !seen.insert(action) {
            errors.push(Error::duplicate(&path, BadValue::json_text(action)));
        }
    }
    if seen.contains("Deny") && seen.contains("Warn") {
        let value = spec.get("validationActions").unwrap_or(&Value::Null);
        let detail = "must not contain both Deny and Warn (repeating the same validation failure information in the \
            API response and headers serves no purpose)";
        errors.push(Error::invalid(path, value, detail));
    }
    if list(spec, "validationActions").is_empty() {
        errors.push(Error::required(path, "at least one validation action is required"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jsontree::json;

    fn check(changes: Value, expected: &[&str]) {
        let mut spec = json!({"policyName": "p", "validationActions": ["Deny"]});
        if let (Some(spec), Value::Object(changes)) = (spec.as_object_mut(), changes.clone()) {
            spec.extend(changes);
        }
        let object = json!({"metadata": {"name": "b"}, "spec": spec});
        let errors = validating(object.as_object().unwrap_or(&Object::new()));
        assert_eq!(errors.iter().map(Error::field).collect::<Vec<_>>(), expected, "{changes}");
    }

    #[test]
    fn parameters_are_named_or_selected() {
        let param = |param: Value| json!({"paramRef": param});
        check(param(json!({"name": "a", "parameterNotFoundAction": "Deny"})), &[]);
        check(
            param(json!({"name": "a", "selector": {}})),
            &["spec.paramRef.name", "spec.paramRef.selector", "spec.paramRef.parameterNotFoundAction"],
        );
        check(
            param(json!({"parameterNotFoundAction": "x"})),
            &["spec.paramRef", "spec.paramRef.parameterNotFoundAction"],
        );
    }

    #[test]
    fn failure_is_reported_once() {
        check(json!({"policyName": "A"}), &["spec.policyName"]);
        check(json!({"validationActions": []}), &["spec.validationActions"]);
        check(json!({"validationActions": ["Deny", "Warn"]}), &["spec.validationActions"]);
        check(
            json!({"validationActions": ["x", "x"]}),
            &["spec.validationActions[0]", "spec.validationActions[1]", "spec.validationActions[1]"],
        );
    }
}
