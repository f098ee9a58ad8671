//! Converts a CRD to the rows of its resource.

use std::sync::Arc;

use super::CustomResource;
use crate::resources::custom::{CustomKind, CustomVersion, Names};
use crate::resources::{CustomTexts, EndpointOperation, Handle, Resource, hash_of_version};

const META_FIELDS: [&str; 2] = ["metadata.name", "metadata.namespace"];

/// CRD with accepted names.
#[derive(Debug)]
pub struct Definition<'d> {
    pub group: &'d str,
    pub names: &'d Names,
    pub namespaced: bool,
    /// Versions and their schemas.
    pub kind: Arc<CustomKind>,
}

impl Definition<'_> {
    /// Creates the custom resource. Returns `None` if no version is stored, which validation prevents.
    pub fn resource(&self) -> Option<CustomResource> {
        let versions = &self.kind.versions;
        let stored = versions.iter().position(|version| version.storage)?;
        let mut served = Vec::new();
        for (number, version) in versions.iter().enumerate().filter(|(_, version)| version.served) {
            served.push(self.row(stored, number, version, ""));
            if version.status {
                served.push(self.row(stored, number, version, "status"));
            }
            if version.scale.is_some() {
                served.push(self.row(stored, number, version, "scale"));
            }
        }
        let row = versions.get(stored).map(|version| self.row(stored, stored, version, ""))?;
        Some(CustomResource::new(row, served))
    }

    fn row(&self, stored: usize, number: usize, version: &CustomVersion, subresource: &str) -> Handle {
        let Definition { group, names, namespaced, kind } = self;
        let scale = subresource == "scale";
        let storage_version = kind.versions.get(stored).map_or("", |version| &version.api_version);
        // With webhook conversion, a request sees objects in its own version; only the webhook can convert
        // them to the storage version.
        let form = if kind.converts_by_webhook { &version.api_version } else { storage_version };
        let texts = CustomTexts {
            group: (*group).to_owned(),
            version: version.name.clone(),
            group_version: version.api_version.clone(),
            plural: names.plural.clone(),
            subresource: subresource.to_owned(),
            kind: if scale { "Scale".to_owned() } else { names.kind.clone() },
            kind_group_version: if scale { SCALE.to_owned() } else { version.api_version.clone() },
            singular: if subresource.is_empty() { names.singular.clone() } else { String::new() },
            short_names: if subresource.is_empty() { names.short_names.clone() } else { Vec::new() },
            categories: if subresource.is_empty() { names.categories.clone() } else { Vec::new() },
            storage_version_hash: if subresource.is_empty() {
                self.storage_version_hash(storage_version)
            } else {
                String::new()
            },
            storage_version: form.to_owned(),
            prefix: format!("{group}/{}", names.plural),
            field_selectors: selectors(version, *namespaced),
            number: u16::try_from(number).unwrap_or(u16::MAX),
            definition: Some(Arc::clone(kind)),
        };
        let namespaced = *namespaced;
        let status = version.status;
        Handle::custom(texts, |row, texts| complete(row, texts, namespaced, status))
    }

    fn storage_version_hash(&self, storage_version: &str) -> String {
        let version = storage_version.rsplit_once('/').map_or("", |(_, version)| version);
        hash_of_version(self.group, version, &self.names.kind)
    }
}

/// Verbs in upstream's order.
const VERBS: &[&str] = &["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];

/// `apiVersion` of Scale.
const SCALE: &str = "autoscaling/v1";

/// Returns the field selector labels.
fn selectors(version: &CustomVersion, namespaced: bool) -> Vec<(String, String)> {
    let meta = META_FIELDS.iter().take(if namespaced { 2 } else { 1 }).map(|path| (*path).to_owned());
    meta.chain(version.selectable.iter().cloned()).map(|path| (path.clone(), path)).collect()
}

fn complete<'a>(row: Resource<'a>, texts: &'a CustomTexts, namespaced: bool, status: bool) -> Resource<'a> {
    let row = Resource { namespaced, allow_unconditional_update: false, ..row };
    match texts.subresource.as_str() {
        "" => Resource {
            storage: Some(texts.storage()),
            verbs: VERBS,
            sets_generation: true,
            reset_fields: if status { &[".status"] } else { &[] },
            ..row
        },
        "status" => Resource {
            verbs: &["get", "patch", "update"],
            reset_fields: &[".metadata", ".spec"],
            field_selectors: &[],
            ..row
        },
        _ => Resource {
            verbs: &["get", "patch", "update"],
            operation: EndpointOperation::Scale,
            message: &schema::builtin::IO_K8S_API_AUTOSCALING_V1_SCALE,
            field_selectors: &[],
            ..row
        },
    }
}
