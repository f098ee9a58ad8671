//! Implicit changes from upstream's round trip through internal types: aliases are synchronized, write-only
//! members are moved, and fields of removed versions are dropped.
//!
//! It happens whenever an object is decoded, from a request or from storage, after conversion and defaulting.
//! It is idempotent.

use super::kind::NormaliseError;
use super::kinds::conversion;
use crate::resources::Builtin;
use schema::object::Object;

/// Returns the annotation of a kind that represents a field of upstream's internal type. Responses with
/// metadata only do not contain it, because upstream takes the metadata from the internal type.
pub fn internal_field_annotation(kind: Option<Builtin>) -> Option<&'static str> {
    conversion(kind?).internal_annotation
}

/// Normalizes an object in the shape of the storage version.
///
/// # Errors
/// See [`NormaliseError`]. Upstream returns 400 with this text in its usual decode error.
pub fn normalise_for_storage(group: &str, kind: &str, object: &mut Object) -> Result<(), NormaliseError> {
    // A custom resource can have the name of a kind.
    match Builtin::from_name(kind).filter(|kind| kind.group() == group) {
        Some(kind) => (conversion(kind).normalise)(object),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
