//! One file per verb: options, body, registry, answer.

mod admission;
mod apply;
mod binding;
mod claim_rights;
mod componentstatus;
pub(crate) mod connect;
pub(crate) mod create;
pub(crate) mod delete;
mod eviction;
pub(crate) mod get;
pub(crate) mod list;
pub(crate) mod patch;
mod review;
pub(crate) mod token;
pub(crate) mod update;
mod view;
pub(crate) mod watch;
mod write;

use api::resources::Resource;
use api::resources::custom::CustomKind;
use api::structural::Coercion;
use apimachinery::status::{Details, Status};
use registry::meta;
use schema::json::errors as texts;
use schema::object::Object;

use crate::api::Call;

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

/// The answer to a POST that has done what it is for and made no object.
fn done() -> Status {
    let mut status = Status::success(Details::default());
    (status.code, status.details) = (201, None);
    status
}

/// Fills in the defaults of a decoded body, converts it to the resource's storage version, and folds
/// aliases the way upstream's conversions do. A body of another kind than the resource's (a Scale)
/// stays as it is.
///
/// # Errors
/// 400 for what cannot be converted.
pub(crate) fn to_storage_version(
    call: &Call<'_>,
    mut object: Object,
    from: &str,
) -> Result<Object, Box<Status>> {
    let row = call.main();
    if call.endpoint().kind != row.kind {
        return Ok(object);
    }
    if let Some(custom) = row.custom {
        return custom_to_storage_version(row, custom.kind, object, from);
    }
    api::defaults::apply(from, row.kind, &mut object, call.api.registry.gates());
    api::defaults::stamp_taints(from, row.kind, &mut object, call.api.registry.now());
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

/// The same of a custom resource. Its versions differ in their schemas alone.
fn custom_to_storage_version(
    row: &Resource<'_>,
    kind: &CustomKind,
    mut object: Object,
    from: &str,
) -> Result<Object, Box<Status>> {
    kind.default(from, &mut object);
    let to = row.stored_form().group_version;
    if to == from {
        return Ok(object);
    }
    object.insert("apiVersion".to_owned(), to.into());
    match kind.coerce(to, &mut object, Coercion::Silent) {
        Ok(_) => Ok(object),
        Err(error) => Err(Status::unmapped(error).into()),
    }
}
