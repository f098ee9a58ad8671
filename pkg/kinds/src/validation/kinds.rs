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
use apimachinery::go_quote::Quoted;
use apimachinery::time::UnixTime;
use component_base::features::{Gate, Gates};
use schema::object::{Object, get_str};

use super::{
    NameRule, Spelling, validate_finalizers_are_qualified, validate_object_meta, validate_object_meta_update,
};
use crate::kind::{Kind, Validation};
use api::resources::Resource;

pub use crate::core::service::validate_cluster_ips;

/// Suffix of names that are reserved for admission objects from static manifests (apiserver
/// `pkg/admission/plugin/manifest/validation.go`).
pub const STATIC_SUFFIX: &str = ".static.k8s.io";

/// Validation functions of a resource.
#[derive(Clone, Copy)]
pub(crate) struct Rules {
    pub(crate) create: fn(new: &Object) -> ErrorList,
    /// Validates an object that replaces another through a subresource (empty for the resource itself).
    pub(crate) update: fn(subresource: &str, new: &Object, old: &Object) -> ErrorList,
}

/// Input of the rules besides the objects.
#[derive(Clone, Copy, Debug, Default)]
pub struct ValidationContext {
    pub settings: Settings,
    pub now: UnixTime,
}

impl ValidationContext {
    /// Returns the allowed spelling of addresses in fields that formerly accepted lenient spellings.
    pub(crate) fn spelling(&self) -> Spelling {
        Spelling::of(&self.settings.gates)
    }
}

/// Server flags that upstream's rules depend on. Strategies use them too.
#[derive(Clone, Copy, Debug, Default)]
pub struct Settings {
    /// `--allow-privileged`: allows privileged containers, and host processes on Windows.
    pub allow_privileged: bool,
    pub gates: Gates,
}

/// Validation functions that need more than the objects.
#[derive(Clone, Copy)]
pub(crate) struct ContextRules {
    pub(crate) create: fn(new: &Object, given: &ValidationContext) -> ErrorList,
    pub(crate) update:
        fn(subresource: &str, new: &Object, old: &Object, given: &ValidationContext) -> ErrorList,
}

/// Returns the reason why an object with this name must not be deleted, or `None`.
pub fn undeletable(row: &Resource, name: &str) -> Option<&'static str> {
    Kind::of(row).and_then(|kind| (kind.undeletable)(name))
}

/// Validates tolerations outside of pods, such as those in a configuration file. `path` is that of the list.
pub fn validate_tolerations<'o>(path: &Path<'_>, tolerations: impl Iterator<Item = &'o Object>) -> ErrorList {
    let mut errors = ErrorList::new();
    crate::core::pod::tolerations(path, tolerations, false, &mut errors);
    errors
}

/// Validates a new object with the rules of its kind.
pub fn validate(row: &Resource, new: &Object, given: &ValidationContext) -> ErrorList {
    let mut errors = validate_manifest(row, new, given);
    if Kind::of(row).is_some_and(|kind| kind.from_manifests)
        && given.settings.gates.enabled(Gate::ManifestBasedAdmissionControlConfig)
        && let Some(why) = static_name(object_name(new))
    {
        errors.push(Error::invalid(&Path::root("metadata").child("name"), object_name(new), why));
    }
    errors
}

/// Returns the error for a name that is reserved for static manifests of admission objects, or `None`.
pub(crate) fn static_name(name: &str) -> Option<String> {
    name.ends_with(STATIC_SUFFIX).then(|| {
        format!(
            "names ending with {} are reserved for static manifest-based configurations and cannot be managed via the API",
            Quoted(STATIC_SUFFIX)
        )
    })
}

fn object_name(object: &Object) -> &str {
    get_str(object, &["metadata", "name"]).unwrap_or_default()
}

/// Validates an admission object that may come from a static manifest. The result is that of [`validate`]
/// without the check for reserved names.
pub fn validate_manifest(row: &Resource, new: &Object, given: &ValidationContext) -> ErrorList {
    let Some(kind) = Kind::of(row) else { return custom::validate(row, new) };
    match kind.validation {
        Validation::Settings(rules) => (rules.create)(new, given),
        Validation::Objects(rules) => (rules.create)(new),
        Validation::Metadata if kind.qualified_finalizers => metadata(new, row.namespaced, kind.names),
        Validation::Metadata => {
            validate_object_meta(new, row.namespaced, kind.names, &Path::root("metadata"))
        }
    }
}

/// Validates an object that is about to replace `old` through a subresource, with the rules of its kind.
/// Rules for all kinds are checked earlier.
pub fn validate_update(
    row: &Resource,
    subresource: &str,
    new: &Object,
    old: &Object,
    given: &ValidationContext,
) -> ErrorList {
    let Some(kind) = Kind::of(row) else { return custom::validate_update(row, subresource, new, old) };
    match kind.validation {
        Validation::Settings(rules) => (rules.update)(subresource, new, old, given),
        Validation::Objects(rules) => (rules.update)(subresource, new, old),
        Validation::Metadata if kind.qualified_finalizers => metadata_update(new, old),
        Validation::Metadata => validate_object_meta_update(new, old, &Path::root("metadata")),
    }
}

/// Validates the metadata of a new object of a kind with qualified finalizers, which most kinds require.
pub(crate) fn metadata(new: &Object, namespaced: bool, rule: NameRule) -> ErrorList {
    let path = Path::root("metadata");
    let mut errors = validate_object_meta(new, namespaced, rule, &path);
    errors.append(validate_finalizers_are_qualified(new, &path));
    errors
}

/// Validates the metadata of an object of such a kind that is about to replace `old`.
pub(crate) fn metadata_update(new: &Object, old: &Object) -> ErrorList {
    let path = Path::root("metadata");
    let mut errors = validate_object_meta_update(new, old, &path);
    errors.append(validate_finalizers_are_qualified(new, &path));
    errors
}
