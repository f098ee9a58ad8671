//! Field managers of endpoints: the versions of a resource, and conversion between them, for
//! [`fieldmanager`].

mod scale;
#[cfg(test)]
mod tests;

pub use scale::replicas_paths;

use apimachinery::gvk::split_api_version;
use fieldmanager::ServedVersion;
use fieldmanager::structured_merge::model::{Schema, TypeRef};
use fieldmanager::structured_merge::updater::ConvertError;
use schema::object::Object;
use schema::table::Message;

use crate::conversion::{convert, normalise_for_storage};
use crate::resources::{self, Handle, Resource};

/// Field manager of one endpoint. Objects are normalized trees in the shape of the stored version
/// ([`crate::conversion::normalise_for_storage`]).
pub type FieldManager = fieldmanager::FieldManager<Handle>;

/// Creates the field manager of a built-in endpoint, or `None` if bodies have no metadata. `served` returns
/// true for the resources that this server serves. Fields owned through other versions are dropped on the
/// next write.
pub fn field_manager(
    row: &'static Resource<'static>,
    served: impl Fn(&Resource<'_>) -> bool,
) -> Option<FieldManager> {
    FieldManager::new(row.into(), other_versions(row, served), stored_version(row))
}

impl ServedVersion for Handle {
    fn api_version(&self) -> &str {
        self.row().kind_group_version
    }

    fn kind(&self) -> &str {
        self.row().kind
    }

    fn subresource(&self) -> &str {
        self.row().subresource
    }

    fn message(&self) -> &'static Message {
        self.row().message
    }

    fn merge_type(&self) -> TypeRef<'_> {
        let row = self.row();
        if !row.message.open {
            return TypeRef::builtin(row.message);
        }
        let schema = row.custom.and_then(|custom| custom.version.merge());
        schema.map_or(TypeRef::DEDUCED, Schema::type_ref)
    }

    fn reset_fields(&self) -> &[&str] {
        self.row().reset_fields
    }

    fn converts_by_webhook(&self) -> bool {
        let row = self.row();
        row.message.open && row.custom.is_some_and(|custom| custom.kind.converts_by_webhook)
    }

    fn rejects_merged(&self) -> bool {
        self.row().custom.is_some() && !self.row().message.open
    }

    fn convert(&self, object: Object, from: &str, to: &str) -> Object {
        convert(object, from, to, self.row().kind)
    }

    fn normalise(&self, stored: &str, object: &mut Object) -> Result<(), ConvertError> {
        let (group, _) = split_api_version(stored);
        normalise_for_storage(group, self.row().kind, object)
            .map_err(|error| ConvertError::Failed(error.to_string()))
    }
}

/// Iterates over the same subresource in other served versions, for a built-in endpoint. Versions of other
/// groups count only if they are published together with the endpoint's; upstream treats the core group
/// separately.
fn other_versions(
    row: &'static Resource<'static>,
    served: impl Fn(&Resource<'_>) -> bool,
) -> impl Iterator<Item = Handle> {
    let matches = resources::all().filter(move |other| {
        (other.kind, other.plural, other.subresource) == (row.kind, row.plural, row.subresource)
            && other.kind_group_version != row.kind_group_version
            && other.group.is_empty() == row.group.is_empty()
            && served(other)
    });
    matches.map(Handle::from)
}

/// Returns the storage version of a built-in endpoint, or the endpoint's own version if it is not stored.
fn stored_version(row: &Resource<'static>) -> &'static str {
    resources::find(row.group, row.version, row.plural, "")
        .and_then(|parent| parent.storage)
        .filter(|storage| storage.kind == row.kind)
        .map_or(row.kind_group_version, |storage| storage.group_version)
}
