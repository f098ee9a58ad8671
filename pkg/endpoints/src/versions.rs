//! Converts objects for webhooks and policies to versions other than the request's, and back.

use api::resources::Resource;
use api::resources::custom::CustomKind;
use apimachinery::status::Status;
use registry::Registry;
use schema::json::errors as texts;
use schema::object::Object;

use crate::body::{self, ExpectedType};

pub use crate::body::DecodeError;
use crate::response::encode;

/// Converts a stored object to the version of `endpoint`.
pub fn to_endpoint_version(object: Object, endpoint: &Resource<'_>, resource: &Resource<'_>) -> Object {
    let mut object = match &resource.storage {
        Some(storage) if endpoint.kind == resource.kind => encode::served(object, storage, endpoint),
        _ => object,
    };
    object.insert("kind".to_owned(), endpoint.kind.into());
    object.insert("apiVersion".to_owned(), endpoint.kind_group_version.into());
    object
}

/// Encodes an object as JSON in the version of `endpoint`.
///
/// # Errors
/// The tree does not match its kind.
pub fn to_json(object: &Object, endpoint: &Resource<'_>) -> Result<Vec<u8>, schema::patch::Error> {
    schema::patch::text(endpoint.message, object)
}

/// Decodes the changed [`text`] of an object. Returns it with its `apiVersion`.
///
/// # Errors
/// The JSON is not an object of the endpoint's kind.
pub fn from_json(text: &[u8], endpoint: &Resource<'_>) -> Result<(Object, String), DecodeError> {
    body::decode_patched(text, ExpectedType::of(endpoint), false)
        .map(|decoded| (decoded.object, decoded.api_version))
}

/// Applies the defaults of an object in version `from`, converts it to the resource's storage version, and
/// folds aliases like upstream's conversions. An object of another kind than the resource's, for example a
/// Scale, is unchanged. An object that a conversion webhook converts keeps its version.
///
/// # Errors
/// 400 for an object that cannot be converted, 413 for one with too many defaults.
pub fn to_storage_version(
    mut object: Object,
    from: &str,
    endpoint: &Resource<'_>,
    row: &Resource<'_>,
    registry: &Registry,
) -> Result<Object, Box<Status>> {
    if endpoint.kind != row.kind {
        return Ok(object);
    }
    if let Some(custom) = row.custom {
        return custom_to_storage_version(row, custom.kind, object, from);
    }
    kinds::defaults::complete(from, row.kind, &mut object, registry.gates()).map_err(body::too_large)?;
    kinds::defaults::stamp_taints(from, row.kind, &mut object, registry.now());
    let mut object = match &row.storage {
        Some(storage) if storage.group_version != from => {
            api::conversion::convert(object, from, storage.group_version, storage.kind)
        }
        _ => object,
    };
    match api::conversion::normalise_for_storage(row.group, row.kind, &mut object) {
        Ok(()) => Ok(object),
        Err(error) => {
            let text = texts::cannot_be_handled(row.kind, row.version, row.kind, error);
            Err(Status::bad_request(text).into())
        }
    }
}

/// As [`to_storage_version`], for a custom resource. Its versions differ only in their schemas, or a webhook converts
/// them.
fn custom_to_storage_version(
    row: &Resource<'_>,
    kind: &CustomKind,
    mut object: Object,
    from: &str,
) -> Result<Object, Box<Status>> {
    kind.default(from, &mut object).map_err(body::too_large)?;
    let to = row.stored_form().group_version;
    if to == from || kind.converts_by_webhook {
        return Ok(object);
    }
    // Fields that only this version has are pruned when the object is stored.
    object.insert("apiVersion".to_owned(), to.into());
    Ok(object)
}
