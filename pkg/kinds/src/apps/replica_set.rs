//! ReplicaSets, and ReplicationControllers, their predecessors.

mod defaults;

use crate::core::pod::{PodOptions, validate_pod_template_spec};
use crate::kind::{Columns, Kind, OnUpdate, RareProperties, Validation, Version, WarningRules};
use crate::printers::column::{AGE, CONTAINERS, Column, IMAGES, NAME};
use crate::printers::format::label_selector;
use crate::strategy::gated::shared::{TEMPLATE, TEMPLATE_ANNOTATIONS, TERMINATING};
use crate::strategy::hooks::Common;
use crate::validation::NameRule;
use crate::validation::immutable::immutable;
use crate::validation::kinds::workload::{
    EXCEEDS_REPLICAS, none_above, none_negative, required_selector, requires_restart_always, selector_value,
    selects_template,
};
use crate::validation::rules::{ContextRules, ValidationContext, metadata, metadata_update};
use api::tree::{child, is_set, pairs};
use apimachinery::field::{BadValue, Error, ErrorList, Path};
use apimachinery::labels::{Selector, from_label_selector};
use schema::builtin::IO_K8S_API_APPS_V1_REPLICASETSPEC as REPLICA_SET_SPEC;
use schema::object::Object;

pub(crate) static KIND: Kind = Kind {
    names: NameRule::DnsSubdomain,
    qualified_finalizers: true,
    defaults: &[
        Version::with_defaults("apps/v1", defaults::replica_set),
        Version::with_defaults("apps/v1beta2", defaults::replica_set),
        Version::with_defaults("extensions/v1beta1", defaults::replica_set_of_extensions),
    ],
    validation: Validation::Settings(REPLICA_SETS),
    warnings: WarningRules {
        create: crate::warnings::template::named_template,
        update: OnUpdate::Custom(crate::warnings::template::template_update),
        ..WarningRules::NONE
    },
    columns: Columns::Custom(&[
        NAME,
        Column::integer("Desired", |object, _| object.get_path("spec.replicas").int().into())
            .with_description_of("io.k8s.api.apps.v1.ReplicaSetSpec", "replicas"),
        Column::integer("Current", |object, _| object.get_path("status.replicas").int().into())
            .with_description_of("io.k8s.api.apps.v1.ReplicaSetStatus", "replicas"),
        Column::integer("Ready", |object, _| object.get_path("status.readyReplicas").int().into())
            .with_description_of("io.k8s.api.apps.v1.ReplicaSetStatus", "readyReplicas"),
        AGE,
        CONTAINERS,
        IMAGES,
        Column::text("Selector", |object, _| label_selector(object.get_path("spec.selector")).into())
            .with_description_of("io.k8s.api.apps.v1.ReplicaSetSpec", "selector")
            .wide(),
    ]),
    gated: &[TEMPLATE_ANNOTATIONS, TEMPLATE, TERMINATING],
    strategy: &Common,
    rare_properties: RareProperties::NONE,
};

pub(crate) const REPLICA_SETS: ContextRules =
    ContextRules { create: replica_set, update: replica_set_update };
pub(crate) const CONTROLLERS: ContextRules = ContextRules { create: controller, update: controller_update };

/// Annotations with values that could not be converted when a ReplicaSet was read as a ReplicationController.
const NON_CONVERTIBLE: &str = "non-convertible.kubernetes.io";

fn replica_set(new: &Object, context: &ValidationContext) -> ErrorList {
    let mut errors = metadata(new, true, NameRule::DnsSubdomain);
    replica_set_spec(new, None, context, &mut errors);
    errors
}

fn replica_set_update(
    subresource: &str,
    new: &Object,
    old: &Object,
    context: &ValidationContext,
) -> ErrorList {
    let mut errors = metadata_update(new, old);
    if subresource == "status" {
        status(new, &mut errors);
        return errors;
    }
    replica_set_spec(new, Some(old), context, &mut errors);
    let empty = Object::new();
    let [new, old] = [new, old].map(|object| child(object, "spec").unwrap_or(&empty));
    immutable(&Path::root("spec.selector"), &REPLICA_SET_SPEC, "selector", new, old, &mut errors);
    errors
}

fn replica_set_spec(new: &Object, old: Option<&Object>, context: &ValidationContext, errors: &mut ErrorList) {
    let empty = Object::new();
    let spec = child(new, "spec").unwrap_or(&empty);
    let path = Path::root("spec");
    none_negative(&path, spec, &["replicas", "minReadySeconds"], errors);
    // Upstream's text contains "deployment" here.
    required_selector(&path, spec, "deployment", errors);
    template(&path, spec, old.and_then(|old| child(old, "spec")), context, errors);
}

/// Validates the template of a spec with a label selector and long-running pods. `path` is that of the spec,
/// `old` the spec that it replaces. Deployments have the same kind of template.
pub(crate) fn template(
    path: &Path<'_>,
    spec: &Object,
    old: Option<&Object>,
    context: &ValidationContext,
    errors: &mut ErrorList,
) {
    let selector = child(spec, "selector");
    let Ok(selects) = from_label_selector(selector) else {
        let path = path.child("selector");
        errors.push(Error::invalid(&path, selector_value(selector), "invalid label selector"));
        return;
    };
    let empty = Object::new();
    let template = child(spec, "template").unwrap_or(&empty);
    let options = PodOptions::new(false, old.and_then(|old| child(old, "template")), context);
    let path = path.child("template");
    selects_template(&path, template, &selects, errors);
    errors.append(validate_pod_template_spec(template, &path, &options));
    requires_restart_always(&path, template, "ReplicaSet", errors);
}

/// Validates a status. It is the same for both kinds, except for counters of one kind.
fn status(object: &Object, errors: &mut ErrorList) {
    let empty = Object::new();
    let status = child(object, "status").unwrap_or(&empty);
    let path = Path::root("status");
    let counters = [
        "replicas",
        "fullyLabeledReplicas",
        "readyReplicas",
        "availableReplicas",
        "observedGeneration",
        "terminatingReplicas",
    ];
    none_negative(&path, status, &counters, errors);
    let pairs = [
        ("fullyLabeledReplicas", "replicas", EXCEEDS_REPLICAS),
        ("readyReplicas", "replicas", EXCEEDS_REPLICAS),
        ("availableReplicas", "replicas", EXCEEDS_REPLICAS),
        ("availableReplicas", "readyReplicas", "cannot be greater than readyReplicas"),
    ];
    none_above(&path, status, &pairs, errors);
}

fn controller(new: &Object, context: &ValidationContext) -> ErrorList {
    let mut errors = metadata(new, true, NameRule::LongName);
    controller_spec(new, None, context, &mut errors);
    errors
}

fn controller_update(
    subresource: &str,
    new: &Object,
    old: &Object,
    context: &ValidationContext,
) -> ErrorList {
    let mut errors = metadata_update(new, old);
    if subresource == "status" {
        status(new, &mut errors);
        return errors;
    }
    controller_spec(new, Some(old), context, &mut errors);
    non_convertible_fields(new, old, &mut errors);
    errors
}

fn controller_spec(new: &Object, old: Option<&Object>, context: &ValidationContext, errors: &mut ErrorList) {
    let empty = Object::new();
    let spec = child(new, "spec").unwrap_or(&empty);
    let path = Path::root("spec");
    none_negative(&path, spec, &["minReadySeconds"], errors);
    let labels = Selector::from_set(pairs(spec, "selector"));
    if labels.is_empty() {
        errors.push(Error::required(&path.child("selector"), ""));
    }
    if !is_set(spec, "replicas") {
        errors.push(Error::required(&path.child("replicas"), ""));
    }
    none_negative(&path, spec, &["replicas"], errors);
    let path = path.child("template");
    let Some(template) = child(spec, "template") else {
        errors.push(Error::required(&path, ""));
        return;
    };
    let old = old.and_then(|old| child(old, "spec")).and_then(|spec| child(spec, "template"));
    selects_template(&path, template, &labels, errors);
    errors.append(validate_pod_template_spec(template, &path, &PodOptions::new(false, old, context)));
    requires_restart_always(&path, template, "ReplicationController", errors);
}

/// Checks that an update does not change the values that could not be converted.
fn non_convertible_fields(new: &Object, old: &Object, errors: &mut ErrorList) {
    let Some(meta) = child(old, "metadata") else { return };
    let empty = Object::new();
    let [new, old] = [new, old].map(|object| child(object, "spec").unwrap_or(&empty));
    for (key, value) in pairs(meta, "annotations").filter(|(key, _)| key.starts_with(NON_CONVERTIBLE)) {
        let mut parts = key.split('/');
        let (Some(_), Some(field), None) = (parts.next(), parts.next(), parts.next()) else { continue };
        if !field.contains("selector") {
            let error = Error::not_found(&Path::root(field), value);
            errors.push(error.with_detail_prefix("unknown non-convertible field"));
        } else if !pairs(new, "selector").eq(pairs(old, "selector")) {
            let value = new.get("selector").map_or(BadValue::Plain("null".to_owned()), BadValue::from);
            let detail = "cannot update non-convertible selector";
            errors.push(Error::invalid(&Path::root("spec.selector"), value, detail));
        }
    }
}

#[cfg(test)]
mod tests;
