//! Validation rules of the built-in kinds: one entry per resource, one file per kind or small group of kinds
//! below `kinds/`.
//!
//! Rules read the object in its storage version after defaulting. Every function returns all errors in
//! upstream's order. Metadata is validated where upstream's function for the kind does, so some errors of an
//! update appear twice.

pub(crate) mod custom;
/// Checks of CRDs whose results go to status conditions.
pub mod definitions {
    pub use crate::apiextensions::custom_resource_definition::{
        approval_reason, converter_is_believable, is_protected, violations,
    };
}
pub(crate) mod workload;

use apimachinery::field::{Error, ErrorList, Path};
use component_base::features::Gate;
use schema::object::{Object, get_str};

use super::{validate_object_meta, validate_object_meta_update};
use crate::builtin::kind_of;
use crate::kind::Validation;
use crate::validation::rules::{metadata, metadata_update, static_name};

pub use crate::validation::rules::{STATIC_SUFFIX, Settings, ValidationContext};
use api::resources::Resource;

pub use crate::core::service::validate_cluster_ips;

/// Returns the reason why an object with this name must not be deleted, or `None`.
pub fn undeletable(row: &Resource, name: &str) -> Option<&'static str> {
    kind_of(row).and_then(|kind| (kind.rare_properties.undeletable)(name))
}

/// Validates tolerations outside of pods, such as those in a configuration file. `path` is that of the list.
pub fn validate_tolerations<'o>(path: &Path<'_>, tolerations: impl Iterator<Item = &'o Object>) -> ErrorList {
    let mut errors = ErrorList::new();
    crate::core::pod::tolerations(path, tolerations, false, &mut errors);
    errors
}

/// Validates a new object with the rules of its kind.
pub fn validate(row: &Resource, new: &Object, context: &ValidationContext) -> ErrorList {
    let mut errors = validate_manifest(row, new, context);
    if kind_of(row).is_some_and(|kind| kind.rare_properties.from_manifests)
        && context.settings.gates.enabled(Gate::ManifestBasedAdmissionControlConfig)
        && let Some(why) = static_name(object_name(new))
    {
        errors.push(Error::invalid(&Path::root("metadata").child("name"), object_name(new), why));
    }
    errors
}

fn object_name(object: &Object) -> &str {
    get_str(object, &["metadata", "name"]).unwrap_or_default()
}

/// Validates an admission object that may come from a static manifest. The result is that of [`validate`]
/// without the check for reserved names.
pub fn validate_manifest(row: &Resource, new: &Object, context: &ValidationContext) -> ErrorList {
    let Some(kind) = kind_of(row) else { return custom::validate(row, new) };
    match kind.validation {
        Validation::Settings(rules) => (rules.create)(new, context),
        Validation::Objects(rules) => (rules.create)(new),
        Validation::Metadata if kind.qualified_finalizers => metadata(new, row.namespaced, kind.names),
        Validation::Metadata => {
            validate_object_meta(new, row.namespaced, kind.names, &Path::root("metadata"))
        }
    }
}

/// Validates an object that is about to replace `old` through a subresource, with the rules of its kind.
/// Rules for all kinds are checked earlier. Custom resources can also cause `warnings`.
pub fn validate_update(
    row: &Resource,
    subresource: &str,
    new: &Object,
    old: &Object,
    context: &ValidationContext,
    warnings: &mut Vec<String>,
) -> ErrorList {
    let Some(kind) = kind_of(row) else {
        return custom::validate_update(row, subresource, new, old, warnings);
    };
    match kind.validation {
        Validation::Settings(rules) => (rules.update)(subresource, new, old, context),
        Validation::Objects(rules) => (rules.update)(subresource, new, old),
        Validation::Metadata if kind.qualified_finalizers => metadata_update(new, old),
        Validation::Metadata => validate_object_meta_update(new, old, &Path::root("metadata")),
    }
}
