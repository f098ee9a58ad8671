//! JSON text inside objects: in annotations, and raw values in CustomResourceDefinition schemas.

use jsontree::Value;
use schema::object::Object;
use schema::table::{Cardinality, Message, Shape, Type};
use schema::{json, json_write};

/// Returns a raw value after a round trip through Go's untyped values. The result is compact and has sorted
/// keys. Integers are kept while they fit 64 bits; other numbers become doubles. Returns `None` if the text
/// does not parse.
pub(super) fn canonical(text: &str) -> Option<String> {
    let value = json::decode_untyped(text.as_bytes()).ok()?.value;
    let mut out = Vec::with_capacity(text.len());
    json_write::untyped(&value, &mut out).ok()?;
    String::from_utf8(out).ok()
}

/// Returns the JSON text of a list of structs of a type. Returns `None` if one of them does not have the
/// shape.
pub(super) fn list_of(message: &'static Message, items: &[Object]) -> Option<String> {
    let mut out = vec![b'['];
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        json_write::encode(message, item, &mut out).ok()?;
    }
    out.push(b']');
    String::from_utf8(out).ok()
}

/// Renames members to the names of the type's fields. Go's own JSON package reads annotations, unlike the one
/// that reads requests. It falls back to case-insensitive field names if there is no exact match.
pub(super) fn fold_names(message: &Message, value: &mut Value) {
    let Value::Object(object) = value else { return };
    if message.shape != Shape::Struct {
        return;
    }
    for (name, mut value) in std::mem::take(object) {
        let in_any_case = || message.members.iter().find(|member| member.name.eq_ignore_ascii_case(&name));
        let member = message.members.iter().find(|member| member.name == name).or_else(in_any_case);
        let Some(member) = member else { continue };
        if let Type::Message(message) = member.field.ty {
            match (member.field.cardinality, &mut value) {
                (Cardinality::One, value) => fold_names(message, value),
                (Cardinality::List, Value::Array(items)) => {
                    items.iter_mut().for_each(|item| fold_names(message, item));
                }
                (Cardinality::Map, Value::Object(entries)) => {
                    entries.values_mut().for_each(|entry| fold_names(message, entry));
                }
                _ => {}
            }
        }
        object.insert(member.field.member.clone(), value);
    }
}

pub(super) fn string(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len() + 2);
    json_write::write_string(text.as_bytes(), &mut out);
    String::from_utf8(out).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<&str>) {
        assert_eq!(canonical(text).as_deref(), expected, "{text}");
    }

    #[test]
    fn raw_values_match_gos_form() {
        check(r#" { "b" : [ 1 , 2 ] , "a" : null } "#, Some(r#"{"a":null,"b":[1,2]}"#));
        check("1.0", Some("1"));
        check("1e3", Some("1000"));
        check("1e21", Some("1e+21"));
        check("9223372036854775807", Some("9223372036854775807"));
        check("9223372036854775808", Some("9223372036854776000"));
        check(r#""<a>&""#, Some(r#""\u003ca\u003e\u0026""#));
        check("{", None);
    }
}
