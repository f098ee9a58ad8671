//! The tree: a decoded object, for code that edits (patch, defaulting, admission, apply).
//!
//! A tree represents the Go struct of the object, with these conventions:
//!
//! | in Go | in the tree |
//! |---|---|
//! | zero value of a field that is no pointer; nil pointer, list, map, bytes | member absent |
//! | string, bool | string, bool |
//! | int32, int64 | number that is an `i64` |
//! | float64 | number that is an `f64` |
//! | `[]byte` | base64 (standard alphabet, padded) |
//! | Time, MicroTime | RFC 3339 in UTC, with no fraction and with six digits |
//! | Quantity | its canonical text |
//! | IntOrString | number or string |
//! | Duration | Go's text, `1m30s` |
//! | RawExtension, FieldsV1, apiextensions JSON, Unknown | **string** that holds the raw JSON text, byte for byte |
//! | named slices such as ExtraValue | array |
//! | inlined structs | their members, in the parent's object |
//! | TypeMeta | ordinary members `kind` and `apiVersion` |
//!
//! `null` represents a zero value that cannot be absent: in a list or a map, and for a pointer to a value
//! that is `null` in JSON, such as a zero time. Encoders treat a zero value and an absent member alike, and
//! `null` as the zero value, so editors need not clean up. Members that are not in the tables are never
//! encoded.

use jsontree::Value;

use crate::table::Shape;

/// An object; members in bytewise order of their names.
pub type Object = jsontree::Object;

/// True if a non-nil pointer to this type can be encoded as `null`, so that `null` does not mean nil.
pub(crate) fn null_is_set(shape: Shape) -> bool {
    match shape {
        Shape::Time | Shape::MicroTime | Shape::SchemaOrArray | Shape::SchemaOrStringArray => true,
        shape => shape.is_raw_json() || shape == Shape::Unknown,
    }
}

/// The value at `path`, if every step exists. Lists cannot be traversed: the result is `None`.
pub fn get<'a>(object: &'a Object, path: &[&str]) -> Option<&'a Value> {
    let (last, parents) = path.split_last()?;
    let mut object = object;
    for step in parents {
        object = object.get(*step)?.as_object()?;
    }
    object.get(*last)
}

/// The string at `path`; `None` if it is absent or another type.
pub fn get_str<'a>(object: &'a Object, path: &[&str]) -> Option<&'a str> {
    get(object, path)?.as_str()
}

/// The integer at `path`; `None` if it is absent or another type.
pub fn get_i64(object: &Object, path: &[&str]) -> Option<i64> {
    get(object, path)?.as_i64()
}

/// The boolean at `path`; `None` if it is absent or another type.
pub fn get_bool(object: &Object, path: &[&str]) -> Option<bool> {
    get(object, path)?.as_bool()
}

/// The object at `path`; `None` if it is absent or another type.
pub fn get_object<'a>(object: &'a Object, path: &[&str]) -> Option<&'a Object> {
    get(object, path)?.as_object()
}

/// The list at `path`; empty if it is absent or another type.
pub fn get_list<'a>(object: &'a Object, path: &[&str]) -> &'a [Value] {
    get(object, path).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Sets the value at `path`. Creates missing parent objects and replaces parents of other types. An empty
/// path does nothing.
pub fn set(object: &mut Object, path: &[&str], value: impl Into<Value>) {
    let Some((last, parents)) = path.split_last() else { return };
    let mut at = object;
    for step in parents {
        let slot = at.entry(*step).or_insert(Value::Null);
        if !slot.is_object() {
            *slot = Value::Object(Object::new());
        }
        let Value::Object(next) = slot else { return };
        at = next;
    }
    at.insert((*last).to_owned(), value.into());
}

/// Removes the value at `path`. Empty parents remain.
pub fn remove(object: &mut Object, path: &[&str]) -> Option<Value> {
    let (last, parents) = path.split_last()?;
    let mut at = object;
    for step in parents {
        at = at.get_mut(*step)?.as_object_mut()?;
    }
    at.remove(*last)
}

/// The Go type (`%T`) of a value in Go's `unstructured` objects, for errors.
pub fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) | Value::Raw(_) => "map[string]interface {}",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_traverse_objects_only() {
        let mut object = Object::new();
        set(&mut object, &["metadata", "name"], "a");
        set(&mut object, &["spec", "list"], vec![1]);
        assert_eq!(get_str(&object, &["metadata", "name"]), Some("a"));
        assert_eq!(get_str(&object, &["metadata", "none"]), None);
        assert_eq!(get_list(&object, &["spec", "list"]).len(), 1);
        assert_eq!(get(&object, &["spec", "list", "0"]), None);
        assert_eq!(remove(&mut object, &["metadata", "name"]), Some("a".into()));
        assert_eq!(get_object(&object, &["metadata"]).map(Object::len), Some(0));
    }
}
