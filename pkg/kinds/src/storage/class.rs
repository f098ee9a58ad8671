//! Storage classes and volume attributes classes: drivers and parameters of volumes.

use crate::validation::value::qualified_name;
use api::tree::pairs;
use apimachinery::field::{Error, ErrorList, Path};
use schema::object::Object;

const PARAMETERS_MAX: usize = 512;
/// Size limit of all keys and values in bytes.
pub(super) const PARAMETERS_BYTES_MAX: usize = 256 * 1024;

/// Checks for a driver: a qualified name in any case.
pub(super) fn driver(path: &Path<'_>, name: &str, errors: &mut ErrorList) {
    match name {
        "" => errors.push(Error::required(path, "")),
        name => qualified_name(path, &name.to_lowercase(), errors),
    }
}

pub(super) fn parameters(class: &Object, required: bool, errors: &mut ErrorList) {
    let path = Path::root("parameters");
    let count = pairs(class, "parameters").count();
    if count > PARAMETERS_MAX {
        errors.push(Error::too_long(&path, Some(PARAMETERS_MAX)));
        return;
    }
    let mut bytes = 0;
    for (key, value) in pairs(class, "parameters") {
        if key.is_empty() {
            errors.push(Error::invalid(&path, key, "field can not be empty."));
        }
        bytes += key.len() + value.len();
    }
    if bytes > PARAMETERS_BYTES_MAX {
        errors.push(Error::too_long(&path, Some(PARAMETERS_BYTES_MAX)));
    }
    if required && count == 0 {
        errors.push(Error::required(&path, "must contain at least one key/value pair"));
    }
}
