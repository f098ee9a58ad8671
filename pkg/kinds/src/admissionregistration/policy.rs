//! Admission policies.

use super::match_condition::match_conditions;
use super::policy_expressions::Expressions;
use super::rule::{match_resources, mutating_operations};
use super::{FAILURE_POLICIES, REINVOCATION_POLICIES};
use crate::validation::conditions::conditions;
use crate::validation::go_value::go_values;
use crate::validation::rules::{ContextRules, ValidationContext};
use crate::validation::value::{qualified_name, required_one_of, supported_value};
use crate::validation::{NameRule, validate_object_meta};
use api::tree::{child, children, list, maybe_text, text};
use apimachinery::field::{Error, ErrorList, Path};
use apimachinery::names;
use cel::admission::Returns;
use schema::builtin::IO_K8S_API_ADMISSIONREGISTRATION_V1_AUDITANNOTATION as AUDIT_ANNOTATION;
use schema::object::Object;
use std::collections::BTreeSet;

pub(crate) const VALIDATING_POLICIES: ContextRules =
    ContextRules { create: |new, given| validating(new, None, given), update: validating_update };
pub(crate) const MUTATING_POLICIES: ContextRules = ContextRules {
    create: |new, given| mutating(new, None, given),
    update: |_, new, old, given| mutating(new, Some(old), given),
};

const AUDIT_ANNOTATIONS_MAX: usize = 20;
/// Length limit of an audit annotation's expression in bytes.
const AUDIT_EXPRESSION_BYTES_MAX: usize = 5 * 1024;

/// True if the match conditions, and the objects that they can use, are unchanged.
fn same_conditions(new: &Object, old: &Object) -> bool {
    let empty = Object::new();
    let new = child(new, "spec").unwrap_or(&empty);
    let old = child(old, "spec").unwrap_or(&empty);
    child(new, "paramKind") == child(old, "paramKind")
        && list(new, "matchConditions") == list(old, "matchConditions")
}

fn validating_update(
    subresource: &str,
    new: &Object,
    old: &Object,
    context: &ValidationContext,
) -> ErrorList {
    if subresource == "status" {
        return warnings(new);
    }
    validating(new, Some(old), context)
}

fn validating(policy: &Object, old: Option<&Object>, context: &ValidationContext) -> ErrorList {
    let empty = Object::new();
    let path = Path::root("spec");
    let spec = child(policy, "spec").unwrap_or(&empty);
    let composes = !list(spec, "variables").is_empty();
    let mut expressions = Expressions::new(spec, old, composes, context);
    let mut errors = head(policy, old, &mut expressions, false);
    if list(spec, "validations").is_empty() && list(spec, "auditAnnotations").is_empty() {
        let detail = "validations or auditAnnotations must contain at least one item";
        errors.push(Error::required(&path.child("validations"), detail));
        errors.push(Error::required(&path.child("auditAnnotations"), detail));
        return errors;
    }
    let validations = path.child("validations");
    for (index, rule) in children(spec, "validations").enumerate() {
        validation(&validations.index(index), rule, &expressions, &mut errors);
    }
    audit_annotations(&path.child("auditAnnotations"), policy, spec, &expressions, &mut errors);
    errors
}

fn mutating(policy: &Object, old: Option<&Object>, context: &ValidationContext) -> ErrorList {
    let empty = Object::new();
    let path = Path::root("spec");
    let spec = child(policy, "spec").unwrap_or(&empty);
    let mut expressions = Expressions::new(spec, old, true, context);
    let mut errors = head(policy, old, &mut expressions, true);
    let mutations = path.child("mutations");
    if list(spec, "mutations").is_empty() {
        errors.push(Error::required(&mutations, "mutations must contain at least one item"));
    }
    for (index, item) in children(spec, "mutations").enumerate() {
        mutation(&mutations.index(index), item, &expressions, &mut errors);
    }
    let reinvocation = text(spec, "reinvocationPolicy");
    required_one_of(&path.child("reinvocationPolicy"), reinvocation, REINVOCATION_POLICIES, &mut errors);
    errors
}

/// Validates the fields that both kinds of policies share.
fn head(
    policy: &Object,
    old: Option<&Object>,
    expressions: &mut Expressions<'_>,
    mutates: bool,
) -> ErrorList {
    let meta = Path::root("metadata");
    let mut errors = validate_object_meta(policy, false, NameRule::DnsSubdomain, &meta);
    let empty = Object::new();
    let path = Path::root("spec");
    let spec = child(policy, "spec").unwrap_or(&empty);
    match maybe_text(spec, "failurePolicy") {
        None => errors.push(Error::required(&path.child("failurePolicy"), "")),
        Some(failure_policy) => {
            supported_value(&path.child("failurePolicy"), failure_policy, FAILURE_POLICIES, &mut errors)
        }
    }
    if let Some(kind) = child(spec, "paramKind") {
        param_kind(&path.child("paramKind"), kind, &mut errors);
    }
    let constraints = path.child("matchConstraints");
    match child(spec, "matchConstraints") {
        None => errors.push(Error::required(&constraints, "")),
        Some(matched) => {
            match_resources(&constraints, matched, &mut errors);
            if list(matched, "resourceRules").is_empty() {
                errors.push(Error::required(&constraints.child("resourceRules"), ""));
            }
            if mutates {
                mutating_operations(&constraints, matched, &mut errors);
            }
        }
    }
    if !old.is_some_and(|old| same_conditions(policy, old)) {
        match_conditions(&path.child("matchConditions"), spec, &expressions.conditions(), &mut errors);
    }
    let variables = path.child("variables");
    for (index, declared) in children(spec, "variables").enumerate() {
        variable(&variables.index(index), declared, expressions, &mut errors);
    }
    errors
}

fn param_kind(path: &Path<'_>, kind: &Object, errors: &mut ErrorList) {
    let version_path = path.child("apiVersion");
    let api_version = text(kind, "apiVersion");
    if api_version.is_empty() {
        errors.push(Error::required(&version_path, ""));
    } else if api_version.matches('/').count() > 1 {
        let detail = format!("unexpected GroupVersion string: {api_version}");
        errors.push(Error::invalid(&version_path, api_version, detail));
    } else {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let messages = if group.is_empty() { Vec::new() } else { names::is_dns1123_subdomain(group) };
        if !messages.is_empty() {
            errors.push(Error::invalid(&version_path, group, messages.join(",")));
        }
        let messages = names::is_dns1035_label(version);
        if version.is_empty() {
            errors.push(Error::invalid(&version_path, api_version, "version must be specified"));
        } else if !messages.is_empty() {
            errors.push(Error::invalid(&version_path, version, messages.join(",")));
        }
    }
    let path = path.child("kind");
    let kind = text(kind, "kind");
    let messages = names::is_dns1035_label(&kind.to_lowercase());
    if kind.is_empty() {
        errors.push(Error::required(&path, ""));
    } else if !messages.is_empty() {
        let detail = format!("may have mixed case, but should otherwise match: {}", messages.join(","));
        errors.push(Error::invalid(&path, kind, detail));
    }
}

fn variable(path: &Path<'_>, variable: &Object, expressions: &mut Expressions<'_>, errors: &mut ErrorList) {
    let name = text(variable, "name");
    if name.trim().is_empty() {
        errors.push(Error::required(&path.child("name"), "name is not specified"));
    } else if !is_cel_identifier(name) {
        errors.push(Error::invalid(&path.child("name"), name, "must be a valid CEL identifier"));
    }
    let path = path.child("expression");
    let expression = text(variable, "expression");
    if expression.trim().is_empty() {
        errors.push(Error::required(&path, "expression is not specified"));
    } else {
        errors.extend(expressions.declare(&path, name, expression));
    }
}

fn is_cel_identifier(name: &str) -> bool {
    let starts = name.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic());
    starts
        && name.bytes().all(|b| b == b'_' || b.is_ascii_alphanumeric())
        && !cel::escaping::is_reserved(name)
}

fn validation(path: &Path<'_>, validation: &Object, expressions: &Expressions<'_>, errors: &mut ErrorList) {
    let expression_path = path.child("expression");
    let expression = text(validation, "expression");
    if expression.trim().is_empty() {
        errors.push(Error::required(&expression_path, "expression is not specified"));
    } else {
        errors.extend(expressions.validation(&expression_path, expression));
    }
    for member in ["messageExpression", "message"] {
        let value = text(validation, member);
        if !value.is_empty() && value.trim().is_empty() {
            errors.push(Error::invalid(&path.child(member), value, "must be non-empty if specified"));
        } else if member == "messageExpression" && !value.is_empty() {
            errors.extend(expressions.message(&path.child(member), value));
        } else if member == "message" && value.trim().contains(['\n', '\r']) {
            errors.push(Error::invalid(&path.child(member), value, "must not contain line breaks"));
        }
    }
    if let Some(reason) = maybe_text(validation, "reason") {
        let supported = ["Forbidden", "Invalid", "RequestEntityTooLarge"];
        supported_value(&path.child("reason"), reason, &supported, errors);
    }
}

fn audit_annotations(
    path: &Path<'_>,
    policy: &Object,
    spec: &Object,
    expressions: &Expressions<'_>,
    errors: &mut ErrorList,
) {
    if list(spec, "auditAnnotations").len() > AUDIT_ANNOTATIONS_MAX {
        let value = go_values(&AUDIT_ANNOTATION, spec.get("auditAnnotations"));
        let detail = format!("must not have more than {AUDIT_ANNOTATIONS_MAX} auditAnnotations");
        errors.push(Error::invalid(path, value, detail));
    }
    let name = child(policy, "metadata").map_or("", |meta| text(meta, "name"));
    let mut seen = BTreeSet::new();
    for (index, annotation) in children(spec, "auditAnnotations").enumerate() {
        let path = path.index(index);
        let key = text(annotation, "key");
        let key_path = path.child("key");
        match name {
            "" => errors.push(Error::invalid(&key_path, key, "requires metadata.name be non-empty")),
            name => qualified_name(&key_path, &format!("{name}/{key}"), errors),
        }
        let value_path = path.child("valueExpression");
        let expression = text(annotation, "valueExpression");
        match expression.trim().len() {
            0 => errors.push(Error::required(&value_path, "valueExpression is not specified")),
            1..=AUDIT_EXPRESSION_BYTES_MAX => errors.extend(expressions.audit(&value_path, expression)),
            _ => {
                let detail = format!("must not exceed {AUDIT_EXPRESSION_BYTES_MAX} bytes in length");
                errors.push(Error::required(&value_path, detail));
            }
        }
        if !seen.insert(key) {
            errors.push(Error::duplicate(&key_path, key));
        }
    }
}

fn mutation(path: &Path<'_>, mutation: &Object, expressions: &Expressions<'_>, errors: &mut ErrorList) {
    let kind = text(mutation, "patchType");
    let (patch_member, forbidden_member) = match kind {
        "JSONPatch" => ("jsonPatch", "applyConfiguration"),
        "ApplyConfiguration" => ("applyConfiguration", "jsonPatch"),
        _ => {
            let supported = ["ApplyConfiguration", "JSONPatch"];
            required_one_of(&path.child("patchType"), kind, &supported, errors);
            return;
        }
    };
    match child(mutation, patch_member) {
        None => {
            let detail = format!("must be specified when patchType is {kind}");
            errors.push(Error::required(&path.child(patch_member), detail));
        }
        Some(patch) if text(patch, "expression").trim().is_empty() => {
            errors.push(Error::required(&path.child(patch_member).child("expression"), ""));
        }
        Some(patch) => {
            let path = path.child(patch_member);
            let returns = if kind == "JSONPatch" { Returns::JsonPatches } else { Returns::Object };
            errors.extend(expressions.mutation(
                &path.child("expression"),
                text(patch, "expression"),
                returns,
            ));
        }
    }
    if child(mutation, forbidden_member).is_some() {
        let detail = format!("must not be specified when patchType is {kind}");
        errors.push(Error::invalid(&path.child(forbidden_member), format!("{{{forbidden_member}}}"), detail));
    }
}

/// Validates the expression warnings in a status.
fn warnings(policy: &Object) -> ErrorList {
    let mut errors = ErrorList::new();
    let checking = child(policy, "status").and_then(|status| child(status, "typeChecking"));
    let path = Path::root("status.typeChecking.expressionWarnings");
    let all_warnings = checking.into_iter().flat_map(|checking| children(checking, "expressionWarnings"));
    for (index, warning) in all_warnings.enumerate() {
        let path = path.index(index);
        let empty = |member: &&str| text(warning, member).trim().is_empty();
        let missing = ["warning", "fieldRef"].into_iter().filter(empty);
        errors.extend(missing.map(|member| Error::required(&path.child(member), "")));
    }
    if let Some(status) = child(policy, "status") {
        conditions(&Path::root("status.conditions"), status, &mut errors);
    }
    errors
}

#[cfg(test)]
#[path = "policy_tests.rs"]
mod tests;
