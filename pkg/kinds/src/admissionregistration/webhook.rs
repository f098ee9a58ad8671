//! Webhook configurations.

use super::client::client_config;
use super::match_condition::{Context, expressions, match_conditions};
use super::rule::rule_with_operations;
use super::{FAILURE_POLICIES, MATCH_POLICIES, REINVOCATION_POLICIES};
use crate::validation::expression::Releases;
use crate::validation::rules::{ContextRules, ValidationContext};
use crate::validation::selector::label_selector;
use crate::validation::value::{invalid_each, supported_value};
use crate::validation::{NameRule, validate_object_meta};
use api::tree::{child, children, list, maybe_integer, maybe_text, text, texts};
use apimachinery::field::{Error, ErrorList, Path};
use apimachinery::names;
use jsontree::Value;
use schema::object::Object;
use std::collections::BTreeSet;

pub(crate) const VALIDATING_WEBHOOKS: ContextRules = ContextRules { create, update };
pub(crate) const MUTATING_WEBHOOKS: ContextRules = ContextRules { create, update };

/// Supported versions of AdmissionReview.
const REVIEW_VERSIONS: &[&str] = &["v1", "v1beta1"];
const SIDE_EFFECTS: &[&str] = &["None", "NoneOnDryRun", "Some", "Unknown"];
const NO_SIDE_EFFECTS: &[&str] = &["None", "NoneOnDryRun"];

/// Relaxed rules for updates of objects that already break them.
#[derive(Clone, Copy, Default)]
struct Options {
    same_match_conditions: bool,
    side_effects: bool,
    unknown_review_versions: bool,
    duplicate_names: bool,
    bad_selector: bool,
}

fn create(new: &Object, validation_context: &ValidationContext) -> ErrorList {
    let context =
        Context { releases: Releases::of(validation_context), params: false, stored: BTreeSet::new() };
    validate(new, Options::default(), &context)
}

fn update(_: &str, new: &Object, old: &Object, validation_context: &ValidationContext) -> ErrorList {
    let stored = children(old, "webhooks").flat_map(expressions).collect();
    let context = Context { releases: Releases::of(validation_context), params: false, stored };
    validate(new, options(new, old), &context)
}

fn options(new: &Object, old: &Object) -> Options {
    let hooks = || children(old, "webhooks");
    let mut names = BTreeSet::new();
    let is_supported =
        |hook: &Object| texts(hook, "admissionReviewVersions").any(|v| REVIEW_VERSIONS.contains(&v));
    let versioned = |hook: &Object| !list(hook, "admissionReviewVersions").is_empty();
    let bad_selector = |hook: &Object| {
        let mut bad = ErrorList::new();
        for member in ["namespaceSelector", "objectSelector"] {
            label_selector(&Path::NIL, child(hook, member), false, &mut bad);
        }
        !bad.is_empty()
    };
    let conditions = |object| -> Vec<&[Value]> {
        children(object, "webhooks").map(|hook| list(hook, "matchConditions")).collect()
    };
    Options {
        same_match_conditions: conditions(new) == conditions(old),
        side_effects: hooks().any(|hook| !NO_SIDE_EFFECTS.contains(&text(hook, "sideEffects"))),
        unknown_review_versions: hooks().any(|hook| versioned(hook) && !is_supported(hook)),
        duplicate_names: hooks().any(|hook| !names.insert(text(hook, "name"))),
        bad_selector: hooks().any(bad_selector),
    }
}

fn validate(configuration: &Object, options: Options, context: &Context<'_>) -> ErrorList {
    let meta = Path::root("metadata");
    let mut errors = validate_object_meta(configuration, false, NameRule::DnsSubdomain, &meta);
    let path = Path::root("webhooks");
    let mut names = BTreeSet::new();
    for (index, hook) in children(configuration, "webhooks").enumerate() {
        let path = path.index(index);
        webhook(&path, hook, options, context, &mut errors);
        review_versions(&path.child("admissionReviewVersions"), hook, options, &mut errors);
        let name = text(hook, "name");
        if !name.is_empty() && !options.duplicate_names && !names.insert(name) {
            errors.push(Error::duplicate(&path.child("name"), name));
        }
    }
    errors
}

/// Checks for a domain name of three or more labels (`IsFullyQualifiedName`).
fn full_name(path: &Path<'_>, name: &str, errors: &mut ErrorList) {
    if name.is_empty() {
        errors.push(Error::required(path, ""));
        return;
    }
    let messages = names::is_dns1123_subdomain(name);
    if !messages.is_empty() {
        errors.push(Error::invalid(path, name, messages.join(",")));
    } else if name.split('.').count() < 3 {
        let detail = "should be a domain with at least three segments separated by dots";
        errors.push(Error::invalid(path, name, detail));
    }
}

fn webhook(path: &Path<'_>, hook: &Object, options: Options, context: &Context<'_>, errors: &mut ErrorList) {
    full_name(&path.child("name"), text(hook, "name"), errors);
    let rules = path.child("rules");
    for (index, rule) in children(hook, "rules").enumerate() {
        rule_with_operations(&rules.index(index), rule, errors);
    }
    for (member, supported) in [("failurePolicy", FAILURE_POLICIES), ("matchPolicy", MATCH_POLICIES)] {
        if let Some(policy) = maybe_text(hook, member) {
            supported_value(&path.child(member), policy, supported, errors);
        }
    }
    let allowed = if options.side_effects { SIDE_EFFECTS } else { NO_SIDE_EFFECTS };
    match maybe_text(hook, "sideEffects") {
        None => {
            let detail = format!("must specify one of {}", allowed.join(", "));
            errors.push(Error::required(&path.child("sideEffects"), detail));
        }
        Some(effects) => supported_value(&path.child("sideEffects"), effects, allowed, errors),
    }
    let seconds = maybe_integer(hook, "timeoutSeconds").filter(|seconds| !(1..=30).contains(seconds));
    if let Some(seconds) = seconds {
        let detail = "the timeout value must be between 1 and 30 seconds";
        errors.push(Error::invalid(&path.child("timeoutSeconds"), seconds, detail));
    }
    for member in ["namespaceSelector", "objectSelector"] {
        label_selector(&path.child(member), child(hook, member), options.bad_selector, errors);
    }
    // Validating webhooks do not have this field.
    if let Some(policy) = maybe_text(hook, "reinvocationPolicy") {
        supported_value(&path.child("reinvocationPolicy"), policy, REINVOCATION_POLICIES, errors);
    }
    let empty = Object::new();
    client_config(&path.child("clientConfig"), child(hook, "clientConfig").unwrap_or(&empty), errors);
    if !options.same_match_conditions {
        match_conditions(&path.child("matchConditions"), hook, context, errors);
    }
}

fn review_versions(path: &Path<'_>, hook: &Object, options: Options, errors: &mut ErrorList) {
    let supported = REVIEW_VERSIONS.join(", ");
    if list(hook, "admissionReviewVersions").is_empty() {
        errors.push(Error::required(path, format!("must specify one of {supported}")));
        return;
    }
    let mut seen = BTreeSet::new();
    for (index, version) in texts(hook, "admissionReviewVersions").enumerate() {
        let path = path.index(index);
        if seen.insert(version) {
            invalid_each(&path, version, names::is_dns1035_label(version), errors);
        } else {
            errors.push(Error::invalid(&path, version, "duplicate version"));
        }
    }
    if !options.unknown_review_versions && !REVIEW_VERSIONS.iter().any(|version| seen.contains(version)) {
        let value = hook.get("admissionReviewVersions").unwrap_or(&Value::Null);
        errors.push(Error::invalid(path, value, format!("must include at least one of {supported}")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jsontree::json;

    fn configuration(changes: &Value) -> Object {
        let mut hook = json!({"name": "a.b.c", "sideEffects": "None", "admissionReviewVersions": ["v1"],
            "clientConfig": {"url": "https://a"}});
        if let (Some(hook), Value::Object(changes)) = (hook.as_object_mut(), changes) {
            hook.extend(changes.clone());
        }
        let object = json!({"metadata": {"name": "c"}, "webhooks": [hook]});
        object.as_object().cloned().unwrap_or_default()
    }

    fn check(changes: Value, expected: &[&str]) {
        let errors = create(&configuration(&changes), &ValidationContext::default());
        let steps: Vec<&str> = errors
            .iter()
            .map(|error| error.field().strip_prefix("webhooks[0].").unwrap_or_default())
            .collect();
        assert_eq!(steps, expected, "{changes}");
    }

    #[test]
    fn webhooks_have_full_names_and_no_side_effects() {
        check(json!({}), &[]);
        check(json!({"name": "a.b"}), &["name"]);
        check(json!({"sideEffects": "Some"}), &["sideEffects"]);
        check(json!({"sideEffects": null}), &["sideEffects"]);
        check(
            json!({"timeoutSeconds": 31, "failurePolicy": "x", "reinvocationPolicy": "x"}),
            &["failurePolicy", "timeoutSeconds", "reinvocationPolicy"],
        );
    }

    #[test]
    fn reviews_have_a_known_version() {
        check(json!({"admissionReviewVersions": []}), &["admissionReviewVersions"]);
        check(json!({"admissionReviewVersions": ["v2"]}), &["admissionReviewVersions"]);
        check(
            json!({"admissionReviewVersions": ["v1", "v1", "-"]}),
            &["admissionReviewVersions[1]", "admissionReviewVersions[2]"],
        );
    }

    #[test]
    fn conditions_have_different_names() {
        let conditions = json!([{"name": "a", "expression": "true"}, {"name": "a", "expression": " "}, {"expression": "true"}]);
        check(
            json!({"matchConditions": conditions}),
            &["matchConditions[1].expression", "matchConditions[1].name", "matchConditions[2].name"],
        );
    }

    #[test]
    fn existing_errors_are_allowed() {
        let bad = configuration(
            &json!({"sideEffects": "Some", "admissionReviewVersions": ["v2"], "matchConditions": [{}]}),
        );
        assert_eq!(update("", &bad, &bad, &ValidationContext::default()), ErrorList::new());
    }
}
