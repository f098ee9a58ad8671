//! JSON merge patch (RFC 7386), with the nuances of upstream's implementation.

use serde_json::Value;

use super::{Error, object_patch};
use crate::json::StrictError;
use crate::object::Object;

/// Reads a merge patch. When fields are not validated, upstream says less about bad syntax.
///
/// # Errors
/// The text is no JSON object: 400.
pub fn parse(text: &[u8], validate_fields: bool) -> Result<(Object, Vec<StrictError>), Error> {
    let invalid = || Error::BadRequest("Invalid JSON Patch".to_owned());
    match object_patch(text) {
        Ok((Some(patch), strict)) => Ok((patch, strict)),
        Ok((None, _)) => Err(invalid()),
        Err(_) if !validate_fields => Err(invalid()),
        Err(error) => Err(Error::BadRequest(format!("error decoding patch: {error}"))),
    }
}

/// Applies a patch: members replace members, `null` removes them.
pub fn apply(object: &mut Object, patch: &Object) {
    for (name, value) in patch {
        match (object.get_mut(name), value) {
            (_, Value::Null) => {
                object.remove(name);
            }
            (Some(Value::Object(current)), Value::Object(patch)) => apply(current, patch),
            // An object that gives way to something else takes the patch as it stands.
            (Some(current @ Value::Object(_)), _) => *current = value.clone(),
            (Some(current), _) => *current = without_nulls(value),
            (None, _) => {
                object.insert(name.clone(), without_nulls(value));
            }
        }
    }
}

/// A copy without members that are `null`, at any depth. Items that are `null` stay.
fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(object) => {
            let kept = object.iter().filter(|(_, value)| !value.is_null());
            Value::Object(kept.map(|(name, value)| (name.clone(), without_nulls(value))).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(without_nulls).collect()),
        other => other.clone(),
    }
}
