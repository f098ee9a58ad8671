//! Claims of persistent volumes.

mod columns;
pub(crate) mod defaults;
mod strategy;
mod warnings;

use crate::kind::{Columns, Kind, RareProperties, Validation, Version, WarningRules};
use crate::strategy::gated::fields::{gated_by, gated_path};
use crate::validation::NameRule;
use crate::validation::claim_spec::{ClaimOptions, validate_claim_spec};
use crate::validation::conditions::health_conditions;
use crate::validation::go_value::go_lines;
use crate::validation::immutable::{IMMUTABLE, immutable};
use crate::validation::resource_name::is_native;
use crate::validation::resources::{quantity, resource_list, resource_quantity};
use crate::validation::rules::{Rules, metadata, metadata_update};
use crate::validation::selector::label_selector;
use crate::validation::unified_diff::unified_diff;
use crate::validation::value::qualified_name;
use api::semantic::equal;
use api::tree::{child, child_mut, is_set, list, maybe_text, pairs, text};
use apimachinery::field::{BadValue, Error, ErrorList, Path};
use apimachinery::quantity::Quantity;
use component_base::features::Gate;
use jsontree::Value;
use schema::builtin::IO_K8S_API_CORE_V1_PERSISTENTVOLUMECLAIMSPEC as SPEC;
use schema::object::Object;

pub(crate) static KIND: Kind = Kind {
    names: NameRule::DnsSubdomain,
    qualified_finalizers: true,
    defaults: &[Version::with_defaults("v1", defaults::persistent_volume_claim)],
    validation: Validation::Objects(RULES),
    warnings: WarningRules { create: warnings::claim, ..WarningRules::NONE },
    columns: Columns::Custom(columns::COLUMNS),
    gated: &[
        gated_path(&["spec"], &[gated_by(Gate::VolumeAttributesClass, &[&["volumeAttributesClassName"]])]),
        gated_path(
            &["status"],
            &[
                gated_by(Gate::VolumeAttributesClass, &[&["currentVolumeAttributesClassName"]]),
                gated_by(Gate::VolumeAttributesClass, &[&["modifyVolumeStatus"]]),
                gated_by(Gate::RecoverVolumeExpansionFailure, &[&["allocatedResources"]]),
                gated_by(Gate::RecoverVolumeExpansionFailure, &[&["allocatedResourceStatuses"]]),
                gated_by(Gate::CSIVolumeHealth, &[&["healthStatus"]]),
            ],
        ),
    ],
    strategy: &strategy::PersistentVolumeClaims,
    rare_properties: RareProperties {
        completes_stored: Some(defaults::stored_data_sources),
        ..RareProperties::NONE
    },
};

pub(crate) const RULES: Rules = Rules { create, update };

/// Annotation with the storage class, from before the field existed.
const CLASS_ANNOTATION: &str = "volume.beta.kubernetes.io/storage-class";

const RESIZE_STATES: &[&str] = &[
    "ControllerResizeInProgress",
    "ControllerResizeInfeasible",
    "NodeResizeInProgress",
    "NodeResizeInfeasible",
    "NodeResizePending",
];

fn create(new: &Object) -> ErrorList {
    validate(new, ClaimOptions::default())
}

fn validate(claim: &Object, options: ClaimOptions) -> ErrorList {
    let mut errors = metadata(claim, true, NameRule::DnsSubdomain);
    let empty = Object::new();
    let spec = child(claim, "spec").unwrap_or(&empty);
    validate_claim_spec(&Path::root("spec"), spec, options, &mut errors);
    errors
}

fn update(subresource: &str, new: &Object, old: &Object) -> ErrorList {
    let mut errors = metadata_update(new, old);
    if subresource == "status" {
        status(new, &mut errors);
        return errors;
    }
    let empty = Object::new();
    let spec = child(new, "spec").unwrap_or(&empty);
    let old_spec = child(old, "spec").unwrap_or(&empty);
    errors.append(validate(new, options(old_spec)));
    unchanged(new, old, &mut errors);
    let size = storage(new, "spec");
    let old_size = storage(old, "spec");
    if size < old_size && size <= storage(old, "status") {
        let detail = "field can not be less than status.capacity";
        errors.push(Error::forbidden(&Path::root("spec.resources.requests.storage"), detail));
    }
    immutable(&Path::root("volumeMode"), &SPEC, "volumeMode", spec, old_spec, &mut errors);
    attributes_class(spec, old_spec, old, &mut errors);
    errors
}

/// Allows errors that the old claim already has.
fn options(old: &Object) -> ClaimOptions {
    let mut bad = ErrorList::new();
    label_selector(&Path::NIL, child(old, "selector"), false, &mut bad);
    let grouped = |member| child(old, member).is_some_and(|source| is_set(source, "apiGroup"));
    ClaimOptions {
        bad_selector: !bad.is_empty(),
        bad_data_source_group: grouped("dataSource") || grouped("dataSourceRef"),
    }
}

/// Returns the requested storage of the spec, or the storage of the status.
fn storage(claim: &Object, section: &str) -> Quantity {
    let section_of = child(claim, section);
    let list = match section {
        "spec" => section_of
            .and_then(|spec| child(spec, "resources"))
            .and_then(|resources| child(resources, "requests")),
        _ => section_of.and_then(|status| child(status, "capacity")),
    };
    quantity(list.and_then(|list| list.get("storage")))
}

fn class_annotation(claim: &Object) -> Option<&str> {
    let annotations = child(claim, "metadata").and_then(|meta| child(meta, "annotations"));
    annotations.and_then(|annotations| maybe_text(annotations, CLASS_ANNOTATION))
}

/// Checks that the spec is unchanged, except for fields that may be set once or may change in a bound claim.
fn unchanged(new: &Object, old: &Object, errors: &mut ErrorList) {
    let mut spec = child(new, "spec").cloned().unwrap_or_default();
    let mut old_spec = child(old, "spec").cloned().unwrap_or_default();
    if text(&old_spec, "volumeName").is_empty() {
        copy(&spec, &mut old_spec, "volumeName");
    }
    let annotation = class_annotation(new);
    let old_annotation = class_annotation(old);
    let class = maybe_text(&spec, "storageClassName");
    let had_class = is_set(&old_spec, "storageClassName");
    let moved = !had_class
        && old_annotation.is_some()
        && class == old_annotation
        && (annotation.is_none() || annotation == old_annotation);
    if moved {
        spec.remove("storageClassName");
    } else {
        let value = annotation.unwrap_or_default();
        if value != old_annotation.unwrap_or_default() {
            let path = Path::root("metadata.annotations");
            errors.push(Error::invalid(&path.child(CLASS_ANNOTATION), value, IMMUTABLE));
        }
        if class.is_some() && !had_class && (old_annotation.is_none() || class == old_annotation) {
            spec.remove("storageClassName");
        }
    }
    if child(new, "status").is_some_and(|status| text(status, "phase") == "Bound") {
        let size = Value::from(storage(old, "spec").to_string());
        if let Some(requests) =
            child_mut(&mut spec, "resources").and_then(|resources| child_mut(resources, "requests"))
        {
            requests.insert("storage", size);
        }
        copy(&old_spec, &mut spec, "volumeAttributesClassName");
    }
    if !equal(&SPEC, &spec, &old_spec) {
        let diff = unified_diff(&go_lines(&SPEC, &old_spec), &go_lines(&SPEC, &spec));
        let detail = format!(
            "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound \
             claims\n{diff}"
        );
        errors.push(Error::forbidden(&Path::root("spec"), detail));
    }
}

/// Copies a member to `to`, or removes it there if it is absent.
fn copy(from: &Object, to: &mut Object, member: &str) {
    match from.get(member) {
        Some(value) => _ = to.insert(member.to_owned(), value.clone()),
        None => _ = to.remove(member),
    }
}

/// Checks that the attributes class is not removed after one was applied.
fn attributes_class(spec: &Object, old_spec: &Object, old: &Object, errors: &mut ErrorList) {
    let member = "volumeAttributesClassName";
    let applied =
        child(old, "status").is_some_and(|status| is_set(status, "currentVolumeAttributesClassName"));
    let class = maybe_text(spec, member);
    if !applied || class == maybe_text(old_spec, member) {
        return;
    }
    let change = match class {
        None => "nil",
        Some("") => "empty string",
        Some(_) => return,
    };
    let detail =
        format!("update to {change} is forbidden when status.currentVolumeAttributesClassName is not nil");
    errors.push(Error::forbidden(&Path::root("spec").child(member), detail));
}

fn status(claim: &Object, errors: &mut ErrorList) {
    if child(claim, "metadata").is_none_or(|meta| text(meta, "resourceVersion").is_empty()) {
        errors.push(Error::required(&Path::root("resourceVersion"), ""));
    }
    if child(claim, "spec").is_none_or(|spec| list(spec, "accessModes").is_empty()) {
        // The upper case is upstream's.
        errors.push(Error::required(&Path::root("Spec.accessModes"), ""));
    }
    let empty = Object::new();
    let status = child(claim, "status").unwrap_or(&empty);
    let path = Path::root("status");
    for (name, size) in resource_list(status, "capacity") {
        valid_quantity(&path.child("capacity").key(name), &size, errors);
    }
    if let Some(health) = child(status, "healthStatus") {
        health_conditions(&path.child("healthStatus"), health, errors);
    }
    let states_path = path.child("allocatedResourceStatuses");
    for (name, state) in pairs(status, "allocatedResourceStatuses") {
        resource_key(&states_path, name, errors);
        if !RESIZE_STATES.contains(&state) {
            // Upstream shows the resource here.
            errors.push(Error::not_supported(&states_path, BadValue::json_text(name), RESIZE_STATES));
        }
    }
    let path = path.child("allocatedResources");
    for (name, size) in resource_list(status, "allocatedResources") {
        let before = errors.len();
        resource_key(&path, name, errors);
        if errors.len() == before {
            valid_quantity(&path.key(name), &size, errors);
        }
        if errors.len() == before {
            resource_quantity(&path.key(name), "storage", &size, errors);
        }
    }
}

fn valid_quantity(path: &Path<'_>, size: &Quantity, errors: &mut ErrorList) {
    if size.value() < 0 {
        errors.push(Error::invalid(path, size.value(), "must be a valid resource quantity"));
    }
}

/// Checks for `storage` or an extended resource name.
fn resource_key(path: &Path<'_>, name: &str, errors: &mut ErrorList) {
    let before = errors.len();
    qualified_name(path, name, errors);
    if errors.len() == before && is_native(name) && name != "storage" {
        errors.push(Error::not_supported(path, name, &["storage"]));
    }
}

#[cfg(test)]
#[path = "persistent_volume_claim/tests.rs"]
mod tests;
