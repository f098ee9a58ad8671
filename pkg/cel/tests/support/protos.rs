//! The protobuf types that cel-go's own tests use.

use cel::types::{Type, Types};

/// A message type of the tests.
pub(crate) fn find_type(_types: &mut Types, _name: &str) -> Option<Type> {
    None
}

/// A field of a message of the tests.
pub(crate) fn find_field(_types: &mut Types, _object: &str, _field: &str) -> Option<Type> {
    None
}

/// A constant of an enumeration of the tests.
pub(crate) fn find_constant(_name: &str) -> Option<i64> {
    None
}
