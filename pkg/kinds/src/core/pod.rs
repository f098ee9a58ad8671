//! Pods, and pod templates in other kinds. Upstream's `ValidatePodCreate`, `ValidatePodUpdate`, the same
//! functions for subresources, and `ValidatePodTemplateSpec`.
//!
//! Paths are those of upstream's internal types. Some fields are in the pod spec in v1 and in the security
//! context there; their paths are those in upstream's checks.

mod affinity;
mod annotations;
mod capabilities;
mod columns;
mod container;
mod container_restarts;
mod context;
mod defaults;
mod dns;
mod ephemeral;
mod field_ref;
mod gated;
mod options;
mod os;
mod pod_resources;
mod resize;
mod security;
mod security_context;
mod spec;
mod spread;
mod status;
pub(crate) mod strategy;
mod sysctls;
mod toleration;
mod update;
mod volumes;
mod warnings;

use crate::kind::{Columns, Kind, OnUpdate, RareProperties, Validation, Version, WarningRules};
use crate::validation::rules::{ContextRules, ValidationContext, metadata, metadata_update};
use crate::validation::{NameRule, validate_annotations, validate_labels};
use annotations::{annotation_updates, annotations, profiles_match};
use api::semantic;
use api::tree::{child, children, list, text};
use apimachinery::field::{Error, ErrorList, Path};
use container::validate_images_of_pod;
pub(crate) use options::PodOptions;
use schema::builtin::IO_K8S_API_CORE_V1_PODSPEC as POD_SPEC;
use schema::object::Object;
use spec::validate_pod_spec;
pub(crate) use toleration::tolerations;

pub(crate) static KIND: Kind = Kind {
    names: NameRule::DnsSubdomain,
    qualified_finalizers: true,
    defaults: &[Version::with_defaults("v1", defaults::pod)],
    validation: Validation::Settings(RULES),
    warnings: WarningRules {
        create: warnings::new_pod,
        // People rarely update pods directly, so the warning would not be seen.
        update: OnUpdate::Custom(|_, _, _| {}),
        before_create: crate::warnings::app_armor::pod,
        update_status: warnings::pod_status,
        ..WarningRules::NONE
    },
    columns: Columns::Custom(columns::COLUMNS),
    gated: gated::GATED,
    strategy: &strategy::Pods,
    rare_properties: RareProperties {
        initial_status: true,
        row_condition: columns::end_of_pod,
        ..RareProperties::NONE
    },
};

pub(crate) const RULES: ContextRules = ContextRules { create, update };

/// Container lists of a pod spec in upstream's order.
const CONTAINER_LISTS: [&str; 3] = ["initContainers", "containers", "ephemeralContainers"];

fn create(new: &Object, context: &ValidationContext) -> ErrorList {
    let mut errors = metadata_and_spec(new, &PodOptions::new(true, None, context));
    let empty = Object::new();
    let spec = child(new, "spec").unwrap_or(&empty);
    let path = Path::root("spec");
    if !list(spec, "ephemeralContainers").is_empty() {
        errors.push(Error::forbidden(&path.child("ephemeralContainers"), "cannot be set on create"));
    }
    if !text(spec, "nodeName").is_empty() && !list(spec, "schedulingGates").is_empty() {
        let detail = "cannot be set until all schedulingGates have been cleared";
        errors.push(Error::forbidden(&path.child("nodeName"), detail));
    }
    profiles_match(&path, new, &mut errors);
    errors
}

fn update(subresource: &str, new: &Object, old: &Object, context: &ValidationContext) -> ErrorList {
    let options = PodOptions::new(true, Some(old), context);
    let mut errors = metadata_update(new, old);
    let path = Path::root("metadata.annotations");
    if subresource == "status" {
        annotation_updates(&path, new, old, &options, &mut errors);
        status::validate_status_update(new, old, &options, &mut errors);
        return errors;
    }
    errors.append(metadata_and_spec(new, &options));
    if subresource == "resize" {
        return resize::validate_pod_resize(new, old, &options, errors);
    }
    annotation_updates(&path, new, old, &options, &mut errors);
    match subresource {
        "ephemeralcontainers" => ephemeral::validate_ephemeral_containers_update(new, old, errors),
        _ => {
            update::validate_update(new, old, &options, &mut errors);
            errors
        }
    }
}

/// Validates a pod, new or not.
fn metadata_and_spec(pod: &Object, options: &PodOptions) -> ErrorList {
    let mut errors = metadata(pod, true, NameRule::DnsSubdomain);
    annotations(&Path::root("metadata.annotations"), pod, options, &mut errors);
    let empty = Object::new();
    let spec = child(pod, "spec").unwrap_or(&empty);
    let path = Path::root("spec");
    validate_pod_spec(spec, child(pod, "metadata"), &path, options, &mut errors);
    // Templates may have these for compatibility with old ones.
    if text(spec, "serviceAccountName").is_empty() {
        volumes::no_projected_tokens(&path.child("volumes"), spec, &mut errors);
    }
    validate_images_of_pod(spec, &path, &mut errors);
    errors
}

/// Validates a pod template in another kind. `path` is that of the template. `options` come from
/// [`PodOptions::new`] with the template that it replaces, if any.
pub(crate) fn validate_pod_template_spec(
    template: &Object,
    path: &Path<'_>,
    options: &PodOptions,
) -> ErrorList {
    let empty = Object::new();
    let spec = child(template, "spec").unwrap_or(&empty);
    let mut errors = validate_pod_template_metadata(template, path, options);
    let path = path.child("spec");
    validate_pod_spec(spec, None, &path, options, &mut errors);
    profiles_match(&path, template, &mut errors);
    if !list(spec, "ephemeralContainers").is_empty() {
        let detail = "ephemeral containers not allowed in pod template";
        errors.push(Error::forbidden(&path.child("ephemeralContainers"), detail));
    }
    errors
}

/// Compares two pod specs in upstream's internal type. That type lacks the old name of the service account
/// and always has a security context.
fn same_spec(a: &Object, b: &Object) -> bool {
    let internal = |spec: &Object| {
        let mut spec = spec.clone();
        spec.remove("serviceAccount");
        spec.entry("securityContext").or_insert_with(|| Object::new().into());
        spec
    };
    semantic::equal(&POD_SPEC, a, b) || semantic::equal(&POD_SPEC, &internal(a), &internal(b))
}

/// Validates the metadata of a pod template: labels and annotations. `path` is that of the template, which
/// embeds the metadata.
pub(crate) fn validate_pod_template_metadata(
    template: &Object,
    path: &Path<'_>,
    options: &PodOptions,
) -> ErrorList {
    let empty = Object::new();
    let meta = child(template, "metadata").unwrap_or(&empty);
    let mut errors = validate_labels(meta, "labels", &path.child("labels"));
    let path = path.child("annotations");
    errors.append(validate_annotations(meta, &path));
    annotations(&path, template, options, &mut errors);
    errors
}

/// Calls `visit` for all containers of a pod spec with their paths. `path` is that of the pod spec.
fn visit_containers<'o>(path: &Path<'_>, spec: &'o Object, mut visit: impl FnMut(&'o Object, &Path<'_>)) {
    for member in CONTAINER_LISTS {
        let path = path.child(member);
        for (index, container) in children(spec, member).enumerate() {
            visit(container, &path.index(index));
        }
    }
}

#[cfg(test)]
mod tests;
