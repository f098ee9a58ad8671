//! Reads objects that a handler needs besides the requested one.

use api::resources::Resource;
use apimachinery::status::Status;
use registry::{StoredRef, Target, codec};
use schema::object::Object;

use crate::scope::RequestScope;

/// Reads the newest state of an object, in the request's namespace if it has one.
///
/// # Errors
/// 404, storage errors.
pub(super) async fn newest(
    call: &RequestScope<'_>,
    row: &Resource<'_>,
    name: &str,
) -> Result<Object, Box<Status>> {
    let target = Target { resource: row, namespace: &call.info.namespace, name };
    let element = call.api.registry.get(&target, "").await?;
    let storage = row.storage.as_ref().ok_or_else(Status::unknown_path)?;
    codec::decode(storage, StoredRef::element(&element)).map_err(crate::response::encode::encoding_error)
}
