//! Validation of `metadata`: upstream's `apimachinery/pkg/api/validation` for every object, and the stricter
//! finalizer rule of `pkg/apis/core/validation` for most built-in kinds.
//!
//! Upstream iterates over Go maps, so its errors about labels and annotations have a random order. Here the
//! order is that of the keys.

use crate::name_rule::NameRule;
use crate::tree::{child, children, flag, integer, pairs, text, texts};
use apimachinery::field::{BadValue, Error, ErrorList, Path};
use apimachinery::go_quote::{is_printable, quote};
use apimachinery::names::{self, TOTAL_ANNOTATIONS_BYTES_MAX};
use fieldmanager::FIELD_MANAGER_BYTES_MAX;
use jsontree::{Value, json};
use schema::object::Object;
use std::collections::BTreeSet;
use std::fmt::Write;

/// Length limit of a subresource in a managed fields entry, in bytes.
const SUBRESOURCE_BYTES_MAX: usize = 256;

const ORPHAN: &str = "orphan";
const FOREGROUND_DELETION: &str = "foregroundDeletion";

/// Validates the metadata of a new object or, with [`NameRule::PathSegment`], of any object. Names must
/// already be generated. `path` is that of the metadata.
pub fn validate_object_meta(object: &Object, namespaced: bool, rule: NameRule, path: &Path<'_>) -> ErrorList {
    let absent = Object::new();
    let meta = child(object, "metadata").unwrap_or(&absent);
    let mut errors = ErrorList::new();
    validate_names(object, meta, rule, path, &mut errors);
    validate_namespace(meta, namespaced, &path.child("namespace"), &mut errors);
    let generation = integer(meta, "generation");
    if generation < 0 {
        let detail = "must be greater than or equal to 0";
        errors.push(Error::invalid(&path.child("generation"), generation, detail));
    }
    errors.append(validate_labels(meta, "labels", &path.child("labels")));
    errors.append(validate_annotations(meta, &path.child("annotations")));
    validate_owner_references(meta, &path.child("ownerReferences"), &mut errors);
    errors.append(validate_finalizers(meta, &path.child("finalizers")));
    validate_managed_fields(meta, &path.child("managedFields"), &mut errors);
    errors
}

/// Validates the metadata of an object that replaces `old`.
pub fn validate_object_meta_update(new: &Object, old: &Object, path: &Path<'_>) -> ErrorList {
    let absent = Object::new();
    let new = child(new, "metadata").unwrap_or(&absent);
    let old = child(old, "metadata").unwrap_or(&absent);
    let mut errors = ErrorList::new();
    if old.get("deletionTimestamp").is_some_and(|at| !at.is_null()) {
        errors.extend(new_finalizers_error(new, old, &path.child("finalizers")));
    }
    if text(new, "resourceVersion").is_empty() {
        let detail = "must be specified for an update";
        errors.push(Error::invalid(&path.child("resourceVersion"), "", detail));
    }
    let generation = integer(new, "generation");
    if generation < integer(old, "generation") {
        errors.push(Error::invalid(&path.child("generation"), generation, "must not be decremented"));
    }
    for name in ["name", "namespace", "uid"] {
        let value = text(new, name);
        if value != text(old, name) {
            errors.push(Error::invalid(&path.child(name), value, "field is immutable"));
        }
    }
    for name in ["creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        let value = new.get(name).unwrap_or(&Value::Null);
        if value != old.get(name).unwrap_or(&Value::Null) {
            errors.push(Error::invalid(&path.child(name), value, "field is immutable"));
        }
    }
    errors.append(validate_labels(new, "labels", &path.child("labels")));
    errors.append(validate_annotations(new, &path.child("annotations")));
    validate_owner_references(new, &path.child("ownerReferences"), &mut errors);
    validate_managed_fields(new, &path.child("managedFields"), &mut errors);
    errors
}

/// Checks that finalizers without a slash are Kubernetes' own. Validation of kinds with
/// `qualified_finalizers` in its descriptor calls this in addition, on create and on update. `path` is that
/// of the metadata.
pub fn validate_finalizers_are_qualified(object: &Object, path: &Path<'_>) -> ErrorList {
    let Some(meta) = child(object, "metadata") else { return ErrorList::new() };
    let standard = ["kubernetes", ORPHAN, FOREGROUND_DELETION];
    let path = path.child("finalizers");
    let unknown = texts(meta, "finalizers")
        .enumerate()
        .filter(|(_, name)| !name.contains('/') && !standard.contains(name));
    let detail = "name is neither a standard finalizer name nor is it fully qualified";
    unknown.map(|(index, name)| Error::invalid(&path.index(index), name, detail)).collect()
}

fn validate_names(object: &Object, meta: &Object, rule: NameRule, path: &Path<'_>, errors: &mut ErrorList) {
    let generate_name = text(meta, "generateName");
    if !generate_name.is_empty() && rule.checks_generate_name() {
        let details = rule.check(object, generate_name, true).into_iter();
        errors
            .extend(details.map(|detail| Error::invalid(&path.child("generateName"), generate_name, detail)));
    }
    let name = text(meta, "name");
    let path = path.child("name");
    if name.is_empty() {
        if !generate_name.is_empty() && !rule.checks_generate_name() {
            let detail =
                format!("generateName was specified ({}), but no name was generated", quote(generate_name));
            errors.push(Error::internal(&path, detail));
        }
        errors.push(Error::required(&path, "name or generateName is required"));
        return;
    }
    let details = rule.check(object, name, false).into_iter();
    errors.extend(details.map(|detail| Error::invalid(&path, name, detail)));
}

fn validate_namespace(meta: &Object, namespaced: bool, path: &Path<'_>, errors: &mut ErrorList) {
    let namespace = text(meta, "namespace");
    match (namespaced, namespace.is_empty()) {
        (true, true) => errors.push(Error::required(path, "")),
        (false, false) => errors.push(Error::forbidden(path, "not allowed on this type")),
        (false, true) => {}
        (true, false) => {
            let details = names::name_is_dns_label(namespace, false).into_iter();
            errors.extend(details.map(|detail| Error::invalid(path, namespace, detail)));
        }
    }
}

/// Validates the labels in the member `member` of an object.
pub fn validate_labels(object: &Object, member: &str, path: &Path<'_>) -> ErrorList {
    let mut errors = ErrorList::new();
    for (key, value) in pairs(object, member) {
        errors.extend(names::is_label_key(key).into_iter().map(|detail| Error::invalid(path, key, detail)));
        errors.extend(
            names::is_label_value(value).into_iter().map(|detail| Error::invalid(path, value, detail)),
        );
    }
    errors
}

/// Validates the `annotations` of a metadata object. Keys follow the rule for labels, in any case. The total
/// size is limited to [`TOTAL_ANNOTATIONS_BYTES_MAX`].
pub fn validate_annotations(meta: &Object, path: &Path<'_>) -> ErrorList {
    let mut errors = ErrorList::new();
    let mut bytes = 0;
    for (key, value) in pairs(meta, "annotations") {
        bytes += key.len() + value.len();
        let details = names::is_label_key(&key.to_lowercase()).into_iter();
        errors.extend(details.map(|detail| Error::invalid(path, key, detail)));
    }
    if bytes > TOTAL_ANNOTATIONS_BYTES_MAX {
        errors.push(Error::too_long(path, Some(TOTAL_ANNOTATIONS_BYTES_MAX)));
    }
    errors
}

pub fn validate_finalizers(meta: &Object, path: &Path<'_>) -> ErrorList {
    let mut errors = ErrorList::new();
    for name in texts(meta, "finalizers") {
        errors.extend(names::is_label_key(name).into_iter().map(|detail| Error::invalid(path, name, detail)));
    }
    let has = |finalizer| texts(meta, "finalizers").any(|name| name == finalizer);
    if has(ORPHAN) && has(FOREGROUND_DELETION) {
        let detail = format!("finalizer {ORPHAN} and {FOREGROUND_DELETION} cannot be both set");
        errors.push(Error::invalid(path, meta.get("finalizers").unwrap_or(&Value::Null), detail));
    }
    errors
}

/// Returns the error for finalizers that were added to an object that is being deleted.
fn new_finalizers_error(new: &Object, old: &Object, path: &Path<'_>) -> Option<Error> {
    let old: BTreeSet<&str> = texts(old, "finalizers").collect();
    let added: BTreeSet<&str> = texts(new, "finalizers").filter(|name| !old.contains(name)).collect();
    if added.is_empty() {
        return None;
    }
    let added: Vec<String> = added.into_iter().map(quote).collect();
    let detail = format!(
        "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
        added.join(", ")
    );
    Some(Error::forbidden(path, detail))
}

fn validate_owner_references(meta: &Object, path: &Path<'_>, errors: &mut ErrorList) {
    let mut controller: Option<String> = None;
    for (index, owner) in children(meta, "ownerReferences").enumerate() {
        validate_owner_reference(owner, &path.index(index), errors);
        if !flag(owner, "controller") {
            continue;
        }
        let name = format!("{}/{}", text(owner, "kind"), text(owner, "name"));
        match &controller {
            None => controller = Some(name),
            Some(first) => {
                errors.push_with(|| {
                    let owners: Vec<String> = children(meta, "ownerReferences").map(owner_text).collect();
                    let detail = format!(
                        "Only one reference can have Controller set to true. Found \"true\" in references for {first} and {name}"
                    );
                    Error::invalid(path, BadValue::Plain(format!("[{}]", owners.join(","))), detail)
                });
            }
        }
    }
}

fn validate_owner_reference(owner: &Object, path: &Path<'_>, errors: &mut ErrorList) {
    let api_version = text(owner, "apiVersion");
    let (group, version) = group_and_version(api_version);
    if !api_version.is_empty() && version.is_empty() {
        let detail = "must be <group>/<version> or <version>";
        errors.push(Error::invalid(&path.child("apiVersion"), api_version, detail));
    }
    for name in ["apiVersion", "kind", "name", "uid"] {
        if text(owner, name).is_empty() {
            errors.push(Error::required(&path.child(name), "must not be empty"));
        }
    }
    // Events are often deleted before the objects that they would own.
    if (group, version, text(owner, "kind")) == ("", "v1", "Event") {
        let detail = "/v1, Kind=Event is disallowed from being an owner";
        errors.push(Error::invalid(path, BadValue::Plain(owner_text(owner)), detail));
    }
}

/// Splits `group/version`; both are empty for a malformed text.
fn group_and_version(api_version: &str) -> (&str, &str) {
    match api_version.split_once('/') {
        None => ("", api_version),
        Some((_, version)) if version.contains('/') => ("", ""),
        Some(split) => split,
    }
}

/// Returns an owner reference as JSON, with members in upstream's order.
fn owner_text(owner: &Object) -> String {
    let mut out = String::from("{");
    for name in ["apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion"] {
        let is_text = !matches!(name, "controller" | "blockOwnerDeletion");
        let value = match owner.get(name) {
            Some(value) => value.clone(),
            None if is_text => json!(""),
            None => continue,
        };
        let comma = if out.len() > 1 { "," } else { "" };
        let _ = write!(out, "{comma}\"{name}\":{value}");
    }
    out.push('}');
    out
}

fn validate_managed_fields(meta: &Object, path: &Path<'_>, errors: &mut ErrorList) {
    for (index, entry) in children(meta, "managedFields").enumerate() {
        let path = path.index(index);
        let operation = text(entry, "operation");
        match operation {
            "Apply" | "Update" => {}
            "" => errors.push(Error::required(&path.child("operation"), "must not be empty")),
            other => errors.push(Error::not_supported(&path.child("operation"), other, &["Apply", "Update"])),
        }
        let fields_type = text(entry, "fieldsType");
        if !matches!(fields_type, "" | "FieldsV1") {
            errors.push(Error::invalid(&path.child("fieldsType"), fields_type, "must be `FieldsV1`"));
        }
        errors.append(validate_field_manager(text(entry, "manager"), &path.child("manager")));
        if text(entry, "subresource").len() > SUBRESOURCE_BYTES_MAX {
            errors.push(Error::too_long(&path.child("subresource"), Some(SUBRESOURCE_BYTES_MAX)));
        }
    }
}

/// Validates the name of a field manager: at most 128 bytes, all printable.
pub fn validate_field_manager(manager: &str, path: &Path<'_>) -> ErrorList {
    let mut errors = ErrorList::new();
    if manager.len() > FIELD_MANAGER_BYTES_MAX {
        errors.push(Error::too_long(path, Some(FIELD_MANAGER_BYTES_MAX)));
    }
    for (at, c) in manager.char_indices().filter(|&(_, c)| !is_printable(c)) {
        errors.push_with(|| {
            let detail = format!("invalid character U+{:04X} (at position {at})", u32::from(c));
            Error::invalid(path, manager, detail)
        });
    }
    errors
}

#[cfg(test)]
mod tests;
