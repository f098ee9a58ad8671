//! Fields of a pod as values of variables and files.

use super::fill::{if_present, if_zero};
use super::object::Object;

/// Sets the API version of a `fieldRef`.
pub(crate) fn field_ref(holder: &mut Object) {
    if_present(holder, "fieldRef", |reference| if_zero(reference, "apiVersion", "v1"));
}
