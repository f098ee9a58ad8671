//! Selection of the rules that apply to a CRD: all for a new one. An update may keep violations of the old CRD.

use super::rules::Stored;
use crate::validation::expression::Releases;
use ::schema::builtin::IO_K8S_APIEXTENSIONS_APISERVER_PKG_APIS_APIEXTENSIONS_V1BETA1_CUSTOMRESOURCEDEFINITIONVERSION as VERSION;
use ::schema::object::Object;
use api::semantic::equal_members;
use api::tree::{child, children, list, text};

/// Limit of selectable fields in a version.
pub(super) const SELECTABLE_FIELDS_MAX: usize = 8;

/// Set of rules to apply.
#[derive(Clone, Copy)]
pub(super) struct ValidationRules<'o> {
    /// Requires that a webhook supports a conversion review version that servers send.
    pub known_review_version: bool,
    /// Requires a schema in each version.
    pub schemas: bool,
    /// Requires OpenAPI types.
    pub types: bool,
    /// Requires structural schemas.
    pub structural: bool,
    /// Requires defaults without unknown fields.
    pub pruned_defaults: bool,
    /// Requires atomic set items.
    pub atomic_sets: bool,
    /// Requires the keys of lists of type map to be present and not null.
    pub map_keys: bool,
    /// Requires a valid CA bundle of a webhook.
    pub bundle: bool,
    /// Old spec of an update.
    pub old: Option<&'o Object>,
    /// Validated spec.
    pub new: Option<&'o Object>,
    /// Releases of the CEL environments.
    pub releases: Releases,
    /// Expressions of the old spec.
    pub stored: &'o Stored,
}

impl<'o> ValidationRules<'o> {
    /// Strictness for a new definition. Its webhook is not used before the definition is established.
    pub(super) fn full(releases: Releases, stored: &'o Stored) -> Self {
        Self {
            known_review_version: true,
            schemas: true,
            types: true,
            structural: true,
            pruned_defaults: true,
            atomic_sets: true,
            map_keys: true,
            bundle: false,
            old: None,
            new: None,
            releases,
            stored,
        }
    }

    /// True if the schema of a version is unchanged.
    pub(super) fn is_schema_unchanged(&self, version: &str) -> bool {
        let (Some(new), Some(old)) = (self.new, self.old) else { return false };
        match (schema_for(new, version), schema_for(old, version)) {
            (Some(new), Some(old)) => new == old,
            _ => false,
        }
    }

    /// True if a version may have too many selectable fields, because it already had the same ones. An empty
    /// name means the fields of all versions.
    pub(super) fn may_select_too_many(&self, version: &str, holder: &Object) -> bool {
        let Some(old) = self.old else { return false };
        let old = match version {
            "" => Some(old),
            // The last version with that name counts.
            name => children(old, "versions").filter(|version| text(version, "name") == name).last(),
        };
        let (Some(old), Some(field)) = (old, VERSION.member("selectableFields")) else { return false };
        list(old, "selectableFields").len() > SELECTABLE_FIELDS_MAX
            && equal_members(field, old.get("selectableFields"), holder.get("selectableFields"))
    }
}

/// Returns the object with the schema of a version, its own or the spec's. Returns `None` if the spec is
/// ambiguous.
fn schema_for<'o>(spec: &'o Object, version: &str) -> Option<Option<&'o Object>> {
    let shared = child(spec, "validation");
    if !children(spec, "versions").any(|version| child(version, "schema").is_some()) {
        return Some(shared);
    }
    let entry = children(spec, "versions").find(|entry| text(entry, "name") == version)?;
    shared.is_none().then(|| child(entry, "schema"))
}
