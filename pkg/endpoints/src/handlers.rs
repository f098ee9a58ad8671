//! One file per verb: options, body, registry, answer.

pub(crate) mod create;
pub(crate) mod delete;
pub(crate) mod get;
pub(crate) mod list;
pub(crate) mod patch;
mod review;
pub(crate) mod update;
pub(crate) mod watch;

use api::resources::Resource;
use apimachinery::status::Status;
use registry::meta;
use schema::json::errors as texts;
use schema::object::Object;

/// The namespace that a body may name: none or the request's; outside namespaces it is cleared. Sets it
/// on the object.
///
/// # Errors
/// 400 when they differ.
pub(crate) fn ensure_namespace(
    row: &Resource,
    namespace: &str,
    object: &mut Object,
) -> Result<(), Box<Status>> {
    let expected = if row.namespaced { namespace } else { "" };
    let given = meta::text(object, "namespace");
    if given == expected {
        return Ok(());
    }
    if given.is_empty() || expected.is_empty() {
        meta::set_text(object, "namespace", expected);
        return Ok(());
    }
    let message = "the namespace of the provided object does not match the namespace sent on the request";
    Err(Status::bad_request(message).into())
}

/// Converts a decoded body to the resource's storage version, and folds aliases the way upstream's
/// conversions do.
///
/// # Errors
/// 400 for what cannot be converted.
pub(crate) fn to_storage_version(
    row: &'static Resource,
    object: Object,
    from: &str,
) -> Result<Object, Box<Status>> {
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
