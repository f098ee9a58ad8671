//! Which devices are meant, and what their driver is told.

use super::{ITEMS_MAX, at_most};
use crate::tree::{child, children, list, text};
use crate::validation::volume_source::csi_driver;
use apimachinery::field::{Error, ErrorList, Path};
use schema::object::Object;

/// Longest expression that selects devices, in bytes.
const EXPRESSION_BYTES_MAX: usize = 10 * 1024;
/// Longest JSON that a driver is given, in bytes.
const RAW_BYTES_MAX: usize = 10 * 1024;

/// Validates the selectors of a class or a request. `path` is that of the list.
pub(super) fn selectors(path: &Path<'_>, owner: &Object, errors: &mut ErrorList) {
    if !at_most(path, list(owner, "selectors").len(), ITEMS_MAX, errors) {
        return;
    }
    for (index, selector) in children(owner, "selectors").enumerate() {
        let path = path.index(index);
        let path = path.child("cel");
        match child(selector, "cel") {
            None => errors.push(Error::required(&path, "")),
            Some(cel) if text(cel, "expression").len() > EXPRESSION_BYTES_MAX => {
                errors.push(Error::too_long(&path.child("expression"), Some(EXPRESSION_BYTES_MAX)));
            }
            Some(_) => {}
        }
    }
}

/// Validates what a driver is told. What is `stored` may be too long, from before there was a limit.
pub(super) fn configuration(path: &Path<'_>, found: &Object, stored: bool, errors: &mut ErrorList) {
    let path = path.child("opaque");
    let Some(opaque) = child(found, "opaque") else {
        errors.push(Error::required(&path, ""));
        return;
    };
    csi_driver(&path.child("driver"), text(opaque, "driver"), errors);
    let json = text(opaque, "parameters");
    match json.is_empty() {
        true => errors.push(Error::required(&path.child("parameters"), "")),
        false => raw_object(&path.child("parameters"), json, stored, errors),
    }
}

/// Validates JSON that must be an object. What is `stored` may be too long.
pub(super) fn raw_object(path: &Path<'_>, json: &str, stored: bool, errors: &mut ErrorList) {
    if json.len() > RAW_BYTES_MAX && !stored {
        errors.push(Error::too_long(path, Some(RAW_BYTES_MAX)));
    } else if json.trim() == "null" {
        errors.push(Error::required(path, ""));
    } else if !json.trim_start().starts_with('{') {
        errors.push(Error::invalid(path, "<value omitted>", "must be a valid JSON object"));
    }
}
