//! Custom resource definitions: names, versions and structural schemas.
//!
//! The object is in its stored form, `v1beta1`. Like upstream's internal type, it has the settings common to
//! all versions at the top of the spec, which is visible in the paths of errors.

mod absent_fields;
mod columns;
mod defaults;
mod extensions;
mod names;
mod rules;
mod schema;
mod spec;
mod strategy;
mod strictness;
mod structural;
mod subschemas;
mod validation_rules;
mod version;
mod webhook;

use crate::admissionregistration::is_url_with_host;
use crate::kind::{Columns, Kind, OnUpdate, RareProperties, Validation, Version, WarningRules};
use crate::strategy::gated::fields::{EACH, gated_by, gated_path};
use crate::validation::expression::Releases;
use crate::validation::immutable::IMMUTABLE;
use crate::validation::rules::{ContextRules, ValidationContext};
use crate::validation::{NameRule, validate_object_meta, validate_object_meta_update};
use crate::warnings;
use ::schema::object::{Object, get_object, get_str};
use api::tree::{child, children, flag, list, maybe_flag, text};
use apimachinery::field::{BadValue, Error, ErrorList, Path, aggregate};
use apimachinery::go_quote::quote;
use component_base::features::Gate;
use jsontree::Value;
use rules::Stored;
use std::collections::BTreeMap;
use validation_rules::ValidationRules;
pub use webhook::converter_is_believable;

pub(crate) static KIND: Kind = Kind {
    names: NameRule::CustomResourceDefinition,
    qualified_finalizers: false,
    defaults: &[
        Version::with_defaults("apiextensions.k8s.io/v1", absent_fields::definition),
        Version::with_defaults("apiextensions.k8s.io/v1beta1", absent_fields::definition_v1beta1),
    ],
    validation: Validation::Settings(RULES),
    warnings: WarningRules {
        create: |new, out| warnings::custom::definition(new, None, out),
        update: OnUpdate::Custom(|new, old, out| warnings::custom::definition(new, Some(old), out)),
        ..WarningRules::NONE
    },
    columns: Columns::Custom(columns::COLUMNS),
    gated: &[gated_path(
        &["status"],
        &[gated_by(
            Gate::CRDObservedGenerationTracking,
            &[&["observedGeneration"], &["conditions", EACH, "observedGeneration"]],
        )],
    )],
    strategy: &strategy::CustomResourceDefinitions,
    rare_properties: RareProperties { early_preconditions: true, ..RareProperties::NONE },
};

pub(crate) const RULES: ContextRules = ContextRules { create, update };

const APPROVAL: &str = "api-approved.kubernetes.io";
const KEP: &str = "see https://github.com/kubernetes/enhancements/pull/1111";

fn create(new: &Object, context: &ValidationContext) -> ErrorList {
    let rule = NameRule::CustomResourceDefinition;
    let mut errors = validate_object_meta(new, false, rule, &Path::root("metadata")).distinct();
    let empty = Object::new();
    spec::validate(
        child(new, "spec").unwrap_or(&empty),
        &ValidationRules::full(Releases::of(context), &Stored::default()),
        &mut errors,
    );
    validate_definition(new, None, &mut errors);
    errors
}

fn update(subresource: &str, new: &Object, old: &Object, context: &ValidationContext) -> ErrorList {
    let mut errors = validate_object_meta_update(new, old, &Path::root("metadata")).distinct();
    if subresource == "status" {
        accepted_names(new, &mut errors);
        return errors;
    }
    let empty = Object::new();
    let spec = child(new, "spec").unwrap_or(&empty);
    let old_spec = child(old, "spec").unwrap_or(&empty);
    let established = is_established(old);
    let stored = Stored::of(old_spec);
    let rules = ValidationRules::after(old_spec, established, Releases::of(context), &stored);
    spec::validate(spec, &rules, &mut errors);
    immutable(spec, old_spec, established, &mut errors);
    validate_definition(new, Some(old), &mut errors);
    errors
}

/// Validates the definition beyond its spec.
fn validate_definition(new: &Object, old: Option<&Object>, errors: &mut ErrorList) {
    accepted_names(new, errors);
    stored_versions(new, errors);
    errors.extend(approval_error(new, old));
    let preserves =
        |object: &Object| child(object, "spec").and_then(|s| maybe_flag(s, "preserveUnknownFields"));
    if preserves(new) == Some(true) && old.and_then(preserves) != Some(true) {
        let detail = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in \
                      spec.versions[*].schema instead";
        errors.push(Error::invalid(&Path::root("spec.preserveUnknownFields"), true, detail));
    }
}

fn is_established(definition: &Object) -> bool {
    let conditions =
        child(definition, "status").into_iter().flat_map(|status| children(status, "conditions"));
    conditions
        .filter(|condition| text(condition, "type") == "Established")
        .any(|condition| text(condition, "status") == "True")
}

/// Validates immutable fields: those that affect storage, and for an established definition its names and
/// scope.
fn immutable(spec: &Object, old: &Object, established: bool, errors: &mut ErrorList) {
    let name = |spec: &Object, path: &[&str]| get_str(spec, path).unwrap_or_default().to_owned();
    let mut check = |path: &[&str], always: bool| {
        let new = name(spec, path);
        if new == name(old, path) || !(always || established) {
            return;
        }
        let value = if path == ["scope"] { BadValue::json_text(&new) } else { BadValue::from(new) };
        let field = path.join(".");
        errors.push(Error::invalid(&Path::root("spec").child(&field), value, IMMUTABLE));
    };
    check(&["scope"], false);
    check(&["names", "kind"], false);
    check(&["group"], true);
    check(&["names", "plural"], true);
}

fn accepted_names(definition: &Object, errors: &mut ErrorList) {
    if let Some(accepted) = get_object(definition, &["status", "acceptedNames"]) {
        names::validate(&Path::root("status.acceptedNames"), accepted, errors);
    }
}

/// Checks that every version in which objects may be stored still exists.
fn stored_versions(definition: &Object, errors: &mut ErrorList) {
    let path = Path::root("status.storedVersions");
    let empty = Object::new();
    let stored = child(definition, "status").unwrap_or(&empty).get("storedVersions").unwrap_or(&Value::Null);
    let names = stored.as_array().map_or(&[][..], Vec::as_slice);
    if names.is_empty() {
        errors.push(Error::invalid(&path, stored, "must have at least one stored version"));
        return;
    }
    let mut missing: BTreeMap<&str, usize> =
        names.iter().enumerate().map(|(index, name)| (name.as_str().unwrap_or_default(), index)).collect();
    let spec = child(definition, "spec").unwrap_or(&empty);
    for version in list(spec, "versions").iter().filter_map(Value::as_object) {
        let name = text(version, "name");
        if missing.remove(name).is_none() && flag(version, "storage") {
            errors.push(Error::invalid(&path, stored, format!("must have the storage version {name}")));
        }
    }
    for (name, index) in missing {
        let detail = format!(
            "missing from spec.versions; {name} was previously a storage version, and must remain in \
             spec.versions until a storage migration ensures no data remains persisted in {name} and removes \
             {name} from status.storedVersions"
        );
        errors.push(Error::invalid(&path.index(index), name, detail));
    }
}

/// Approval of a definition in a protected group (KEP-1111).
#[derive(PartialEq)]
enum Approval {
    Missing,
    Bypassed,
    Approved,
    Invalid,
}

fn approval(definition: &Object) -> (Approval, &str) {
    let annotation = get_str(definition, &["metadata", "annotations", APPROVAL]).unwrap_or_default();
    let state = match annotation {
        "" => Approval::Missing,
        text if text.starts_with("unapproved") => Approval::Bypassed,
        text if is_url_with_host(text) => Approval::Approved,
        _ => Approval::Invalid,
    };
    (state, annotation)
}

/// True for a group of Kubernetes itself.
pub fn is_protected(group: &str) -> bool {
    let protects =
        |domain: &str| group.strip_suffix(domain).is_some_and(|g| g.is_empty() || g.ends_with('.'));
    ["k8s.io", "kubernetes.io"].into_iter().any(protects)
}

/// Returns the condition `KubernetesAPIApprovalPolicyConformant`: status, reason, message. Returns `None` for
/// unprotected groups.
pub fn approval_reason(definition: &Object) -> Option<(&'static str, &'static str, String)> {
    if !is_protected(get_str(definition, &["spec", "group"]).unwrap_or_default()) {
        return None;
    }
    let words = format!("protected groups must have approval annotation \"{APPROVAL}\"");
    let (state, annotation) = approval(definition);
    Some(match state {
        Approval::Missing => ("False", "MissingAnnotation", format!("{words}, {KEP}")),
        Approval::Bypassed => {
            ("False", "UnapprovedAnnotation", format!("not approved: {}", quote(annotation)))
        }
        Approval::Approved => ("True", "ApprovedAnnotation", format!("approved in {annotation}")),
        Approval::Invalid => {
            let message =
                format!("{words} with either a URL or a reason starting with \"unapproved\", {KEP}");
            ("False", "InvalidAnnotation", message)
        }
    })
}

/// Returns the condition `NonStructuralSchema` of a definition that predates the rule: status, reason,
/// message. Returns `None` if there is no violation.
pub fn violations(definition: &Object) -> Option<(&'static str, &'static str, String)> {
    let spec = child(definition, "spec")?;
    let mut errors = ErrorList::new();
    if maybe_flag(spec, "preserveUnknownFields") == Some(true) {
        errors.push(Error::invalid(&Path::root("spec.preserveUnknownFields"), true, "must be false"));
    }
    for (index, version) in children(spec, "versions").enumerate() {
        let holder = child(version, "schema").or_else(|| child(spec, "validation"));
        let Some(schema) = holder.and_then(|holder| child(holder, "openAPIV3Schema")) else { continue };
        if let Some(refusal) = structural::rejection_reason(schema) {
            let name = text(version, "name");
            let message = format!("failed to check validation schema for version {name}: {refusal}");
            return Some(("Unknown", "StructuralError", message));
        }
        let versions = Path::root("spec.versions");
        let path = versions.index(index);
        errors.append(structural::validate(&path.child("schema.openAPIV3Schema"), schema));
    }
    aggregate(errors.iter()).map(|message| ("True", "Violations", message))
}

fn approval_error(new: &Object, old: Option<&Object>) -> Option<Error> {
    let group = get_str(new, &["spec", "group"]).unwrap_or_default();
    if !is_protected(group) {
        return None;
    }
    let (state, annotation) = approval(new);
    if old.is_some_and(|old| approval(old).0 == state) {
        return None;
    }
    let root = Path::root("metadata.annotations");
    let path = root.key(APPROVAL);
    let words = format!("protected groups must have approval annotation \"{APPROVAL}\"");
    match state {
        Approval::Missing => Some(Error::required(&path, format!("{words}, {KEP}"))),
        Approval::Invalid => {
            let detail = format!("{words} with either a URL or a reason starting with \"unapproved\", {KEP}");
            Some(Error::invalid(&path, annotation, detail))
        }
        Approval::Bypassed | Approval::Approved => None,
    }
}

#[cfg(test)]
mod tests;
