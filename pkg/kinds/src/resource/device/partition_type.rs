//! The attribute with the type of a partitionable device (KEP-4815).

use super::claim::attribute_name;
use crate::validation::go_value::go_value;
use api::tree::{child, children, is_set, list, maybe_text, text};
use apimachinery::field::{Error, ErrorList, Path};
use jsontree::Value;
use schema::builtin::IO_K8S_API_RESOURCE_V1_DEVICEATTRIBUTE as DEVICE_ATTRIBUTE;
use schema::object::Object;

/// Checks that all devices that consume counters have the attribute, with a string. `path` is that of the spec of a
/// slice.
pub(super) fn partition_type(path: &Path<'_>, spec: &Object, errors: &mut ErrorList) {
    let Some(name) = maybe_text(spec, "partitionTypeAttribute") else { return };
    let consumes = |device: &Object| !list(device, "consumesCounters").is_empty();
    if !children(spec, "devices").any(consumes) {
        let detail = "may only be set on a slice which declares devices that consume counters";
        errors.push(Error::invalid(&path.child("partitionTypeAttribute"), name, detail));
        return;
    }
    // The declared rules report a malformed name.
    let mut malformed = ErrorList::new();
    attribute_name(&Path::NIL, name, &mut malformed);
    if !malformed.is_empty() || !name.contains('/') {
        return;
    }
    // Attributes in the domain of the driver may omit it.
    let bare = name.strip_prefix(text(spec, "driver")).and_then(|rest| rest.strip_prefix('/'));
    let devices_path = path.child("devices");
    for (index, device) in children(spec, "devices").enumerate().filter(|(_, device)| consumes(device)) {
        let attributes = child(device, "attributes");
        let find =
            |name: &str| attributes.and_then(|attributes| attributes.get(name)).and_then(Value::as_object);
        let path = devices_path.index(index);
        let path = path.child("attributes");
        let path = path.key(name);
        match find(name).or_else(|| bare.and_then(find)) {
            None => {
                let detail = "device consumes counters and `partitionTypeAttribute` names this attribute, so it must be set";
                errors.push(Error::required(&path, detail));
            }
            Some(attribute) if !is_set(attribute, "string") => {
                let detail = "must be a string value because `partitionTypeAttribute` names this attribute";
                errors.push(Error::invalid(&path, go_value(&DEVICE_ATTRIBUTE, attribute), detail));
            }
            Some(_) => {}
        }
    }
}
