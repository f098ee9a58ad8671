//! What is right in an object of each built-in kind: one entry per resource, one file per kind or small
//! group of kinds below `kinds/`.
//!
//! Rules read the object in its storage version after defaulting. Every function returns the whole list
//! of errors in upstream's order; metadata is validated where upstream's function for the kind does,
//! which is why some errors of an update come twice.

pub(crate) mod custom;
/// What definitions are told of themselves, besides whether they are valid.
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

/// How names end that belong to objects of admission control from manifests on the server's disk (apiserver
/// `pkg/admission/plugin/manifest/validation.go`).
pub const STATIC_SUFFIX: &str = ".static.k8s.io";

/// What validates the objects of a resource.
#[derive(Clone, Copy)]
pub(crate) struct Rules {
    /// A new object.
    pub(crate) create: fn(new: &Object) -> ErrorList,
    /// An object that replaces another through a subresource (empty for the resource itself).
    pub(crate) update: fn(subresource: &str, new: &Object, old: &Object) -> ErrorList,
}

/// What rules are given besides objects.
#[derive(Clone, Copy, Debug, Default)]
pub struct Given {
    /// How the server is set up.
    pub settings: Settings,
    /// The time of the write.
    pub now: UnixTime,
}

impl Given {
    /// How addresses may be spelt in fields that took sloppy spellings once.
    pub(crate) fn spelling(&self) -> Spelling {
        Spelling::of(&self.settings.gates)
    }
}

/// What upstream's rules read from the server's flags. Strategies read it too.
#[derive(Clone, Copy, Debug, Default)]
pub struct Settings {
    /// `--allow-privileged`: pods may have privileged containers, and processes of the host on Windows.
    pub allow_privileged: bool,
    /// The feature gates that are open.
    pub gates: Gates,
}

/// Rules that need more than the objects.
#[derive(Clone, Copy)]
pub(crate) struct GivenRules {
    /// As in [`Rules`].
    pub(crate) create: fn(new: &Object, given: &Given) -> ErrorList,
    /// As in [`Rules`].
    pub(crate) update: fn(subresource: &str, new: &Object, old: &Object, given: &Given) -> ErrorList,
}

/// Why no object of this name may be deleted; `None` if it may be.
pub fn undeletable(row: &Resource, name: &str) -> Option<&'static str> {
    Kind::of(row).and_then(|kind| (kind.undeletable)(name))
}

/// What is wrong with tolerations that are no pod's, such as those of a configuration file. `path` is that of the list.
pub fn validate_tolerations<'o>(path: &Path<'_>, tolerations: impl Iterator<Item = &'o Object>) -> ErrorList {
    let mut errors = ErrorList::new();
    crate::core::pod::tolerations(path, tolerations, false, &mut errors);
    errors
}

/// What is wrong with an object that is about to be created, as its kind sees it.
pub fn validate(row: &Resource, new: &Object, given: &Given) -> ErrorList {
    let mut errors = validate_manifest(row, new, given);
    if Kind::of(row).is_some_and(|kind| kind.from_manifests)
        && given.settings.gates.enabled(Gate::ManifestBasedAdmissionControlConfig)
        && let Some(why) = static_name(object_name(new))
    {
        errors.push(Error::invalid(&Path::root("metadata").child("name"), object_name(new), why));
    }
    errors
}

/// Why the API should not have an object of admission control of this name; `None` if it may: it belongs to manifests
/// on the server's disk.
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

/// What is wrong with an object that may be from a manifest on the server's disk, as its kind sees it: what
/// [`validate`] says, but for names that the API leaves to manifests.
pub fn validate_manifest(row: &Resource, new: &Object, given: &Given) -> ErrorList {
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

/// What is wrong with an object that is about to replace `old` through a subresource, as its kind sees
/// it. What holds for every kind is validated before.
pub fn validate_update(
    row: &Resource,
    subresource: &str,
    new: &Object,
    old: &Object,
    given: &Given,
) -> ErrorList {
    let Some(kind) = Kind::of(row) else { return custom::validate_update(row, subresource, new, old) };
    match kind.validation {
        Validation::Settings(rules) => (rules.update)(subresource, new, old, given),
        Validation::Objects(rules) => (rules.update)(subresource, new, old),
        Validation::Metadata if kind.qualified_finalizers => metadata_update(new, old),
        Validation::Metadata => validate_object_meta_update(new, old, &Path::root("metadata")),
    }
}

/// What is wrong with the metadata of a new object of a kind whose finalizers must be qualified, which
/// is most.
pub(crate) fn metadata(new: &Object, namespaced: bool, rule: NameRule) -> ErrorList {
    let path = Path::root("metadata");
    let mut errors = validate_object_meta(new, namespaced, rule, &path);
    errors.append(validate_finalizers_are_qualified(new, &path));
    errors
}

/// What is wrong with the metadata of an object of such a kind that is about to replace `old`.
pub(crate) fn metadata_update(new: &Object, old: &Object) -> ErrorList {
    let path = Path::root("metadata");
    let mut errors = validate_object_meta_update(new, old, &path);
    errors.append(validate_finalizers_are_qualified(new, &path));
    errors
}
