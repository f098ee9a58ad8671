//! Desired states of the objects that the server manages.

use jsontree::Value;
use schema::object::Object;

/// Desired state of an object that must merely exist.
pub fn create_if_missing(current: Option<&Object>, object: &Object) -> Option<Object> {
    current.is_none().then(|| object.clone())
}

/// Converts a JSON literal to an object.
pub fn object(literal: Value) -> Object {
    match literal {
        Value::Object(object) => object,
        _ => Object::new(),
    }
}
