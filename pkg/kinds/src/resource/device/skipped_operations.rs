//! Operations that the kubelet skips for devices (KEP-5945).

use api::tree::texts;
use apimachinery::field::{Error, ErrorList, Path};
use jsontree::Value;
use schema::object::Object;

/// Checks that a device that is not prepared is not unprepared either. `owner` has the member
/// `skipNodeOperations`.
pub(super) fn skipped_operations(path: &Path<'_>, owner: &Object, errors: &mut ErrorList) {
    let skips = |operation: &str| texts(owner, "skipNodeOperations").any(|skipped| skipped == operation);
    if skips("NodePrepareResources") && !skips("NodeUnprepareResources") && !skips("*") {
        let value = owner.get("skipNodeOperations").unwrap_or(&Value::Null);
        let detail = "NodePrepareResources cannot be skipped unless NodeUnprepareResources is also skipped";
        errors.push(Error::invalid(&path.child("skipNodeOperations"), value, detail));
    }
}
