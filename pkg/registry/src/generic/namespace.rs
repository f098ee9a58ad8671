//! Namespace of the object in a write.

use api::resources::Resource;
use apimachinery::status::Status;
use schema::object::Object;

use super::Result;
use crate::meta;

/// Checks the namespace of an object, which must be empty or the request's, and sets it on the object. For
/// cluster-scoped resources the namespace is cleared. Runs for the body and again after mutating admission
/// (upstream's `EnsureObjectNamespaceMatchesRequestNamespace`).
///
/// # Errors
/// 400 when they differ.
pub fn ensure_namespace(row: &Resource<'_>, namespace: &str, object: &mut Object) -> Result<()> {
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
