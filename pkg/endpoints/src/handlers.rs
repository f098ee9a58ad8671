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

use apimachinery::status::{Details, Status};
use registry::generic::ensure_namespace;
use registry::meta;
use schema::object::Object;

use crate::scope::RequestScope;
use crate::versions;

/// Status for a POST that succeeded without creating an object.
fn success_status() -> Status {
    let mut status = Status::success(Details::default());
    (status.code, status.details) = (201, None);
    status
}

/// Checks that the path of an update has a name. The router of custom resources accepts paths without one.
///
/// # Errors
/// 400 (upstream's `ContextBasedNaming.Name`).
pub(crate) fn require_name(name: &str) -> Result<(), Box<Status>> {
    if name.is_empty() {
        return Err(Status::bad_request("name must be provided").into());
    }
    Ok(())
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
