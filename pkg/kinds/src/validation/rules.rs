//! Validation functions of a kind, and their input.

use crate::validation::{
    NameRule, Spelling, validate_finalizers_are_qualified, validate_object_meta, validate_object_meta_update,
};
use apimachinery::field::{ErrorList, Path};
use apimachinery::go_quote::Quoted;
use apimachinery::time::UnixTime;
use component_base::features::Gates;
use schema::object::Object;

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

/// Returns the error for a name that is reserved for static manifests of admission objects, or `None`.
pub(crate) fn static_name(name: &str) -> Option<String> {
    name.ends_with(STATIC_SUFFIX).then(|| {
        format!(
            "names ending with {} are reserved for static manifest-based configurations and cannot be managed via the API",
            Quoted(STATIC_SUFFIX)
        )
    })
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
