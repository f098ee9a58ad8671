//! How the server states what an object should be.

use jsontree::Value;
use schema::object::Object;

/// What is wanted of an object that is only to exist.
pub fn missing(current: Option<&Object>, object: &Object) -> Option<Object> {
    current.is_none().then(|| object.clone())
}

/// The object that a literal stands for.
pub fn object(literal: Value) -> Object {
    match literal {
        Value::Object(object) => object,
        _ => Object::new(),
    }
}
