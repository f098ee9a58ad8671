//! Handlers, one file per verb. Each reads options and body, calls the registry and encodes the response.

mod admission;
mod apply;
mod audit_object;
mod binding;
mod claim_permissions;
mod componentstatus;
pub(crate) mod connect;
pub(crate) mod create;
pub(crate) mod delete;
mod eviction;
pub(crate) mod get;
pub(crate) mod list;
mod list_options;
pub(crate) mod patch;
mod read;
mod review;
pub(crate) mod token;
pub(crate) mod update;
mod view;
pub(crate) mod watch;
mod write;

use api::resources::Resource;
use apimachinery::status::{Details, Status};
use registry::meta;
use schema::object::Object;

use crate::scope::RequestScope;
use crate::versions;

/// Checks the namespace in a body, which must be empty or the request's, and sets it on the object. For
/// cluster-scoped resources the namespace is cleared.
///
/// # Errors
/// 400 when they differ.
pub(crate) fn ensure_namespace(
    row: &Resource,
    namespace: &str,
    object: &mut Object,
) -> Result<(), Box<Status>> {
    let expected = if row.namespaced { namespace } else { "" };
    let object_namespace = meta::text(object, "namespace");
    if object_namespace == expected {
        return Ok(());
    }
    if object_namespace.is_empty() || expected.is_empty() {
        meta::set_text(object, "namespace", expected);
        return Ok(());
    }
    let message = "the namespace of the provided object does not match the namespace sent on the request";
    Err(Status::bad_request(message).into())
}

/// Status for a POST that succeeded without creating an object.
fn success_status() -> Status {
    let mut status = Status::success(Details::default());
    (status.code, status.details) = (201, None);
    status
}

/// Checks that a patch does not change the name of the object.
pub(crate) fn ensure_name(call: &RequestScope<'_>, object: &Object) -> Result<(), Box<Status>> {
    let object_name = meta::text(object, "name");
    let name = call.name();
    if object_name == name {
        return Ok(());
    }
    let message = match object_name {
        "" => {
            format!("the name of the object ({name} based on URL) was undeterminable: name must be provided")
        }
        _ => format!("the name of the object ({object_name}) does not match the name on the URL ({name})"),
    };
    Err(Status::bad_request(message).into())
}

/// Applies the defaults of a decoded body, converts it to the resource's storage version, and folds aliases
/// like upstream's conversions. A body of another kind than the resource's, for example a Scale, is
/// unchanged.
///
/// # Errors
/// 400 for a body that cannot be converted.
pub(crate) fn to_storage_version(
    call: &RequestScope<'_>,
    object: Object,
    from: &str,
) -> Result<Object, Box<Status>> {
    versions::to_storage_version(object, from, call.endpoint(), call.resource(), &call.api.registry)
}
