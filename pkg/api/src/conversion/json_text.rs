//! JSON text as Go's `encoding/json` writes it, for values that are stored as text inside an object:
//! annotations, and raw values inside CustomResourceDefinition schemas.

use schema::object::Object;
use schema::table::{Cardinality, Field, Message, Shape, Type};
use serde_json::{Number, Value};
use std::fmt::Write;

/// The text after a round trip through Go's untyped values: compact, keys sorted, integers kept while
/// they fit 64 bits, other numbers as the shortest double. `None` if the text does not parse (which
/// includes nesting deeper than 128).
pub(super) fn canonical(text: &str) -> Option<String> {
    let value: Value = serde_json::from_str(text).ok()?;
    let mut out = String::with_capacity(text.len());
    write_value(&value, &mut out);
    Some(out)
}

/// The text of a list of structs of a type, members in the order of the type.
pub(super) fn list_of(message: &Message, items: &[Value]) -> String {
    let mut out = String::from("[");
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        write_message(message, Some(item), &mut out);
    }
    out.push(']');
    out
}

fn write_struct(message: &Message, object: &Object, out: &mut String) {
    out.push('{');
    let mut first = true;
    for field in message.fields {
        let value = object.get(field.name).filter(|value| !value.is_null());
        if omitted(field, value) {
            continue;
        }
        if !first {
            out.push(',');
        }
        first = false;
        out.push_str(field.key);
        write_field(field, value, out);
    }
    out.push('}');
}

fn omitted(field: &Field, value: Option<&Value>) -> bool {
    if !field.omit_empty {
        return false;
    }
    let is_struct = matches!(field.ty, Type::Message(message) if !matches!(message.shape, Shape::Wrapper));
    match (field.cardinality, value) {
        // `omitempty` never leaves out a struct.
        (Cardinality::One, None) => field.pointer || !is_struct,
        (Cardinality::One, Some(_)) if field.pointer || is_struct => false,
        (Cardinality::One, Some(Value::Bool(flag))) => !flag,
        (Cardinality::One, Some(Value::Number(number))) => number.as_f64() == Some(0.0),
        (Cardinality::One, Some(Value::String(text))) => text.is_empty(),
        (_, Some(Value::Array(items))) => items.is_empty(),
        (_, Some(Value::Object(members))) => members.is_empty(),
        (_, value) => value.is_none(),
    }
}

fn write_field(field: &Field, value: Option<&Value>, out: &mut String) {
    match (field.cardinality, value) {
        (Cardinality::One, value) if value.is_some() || !field.pointer => write_one(field.ty, value, out),
        (Cardinality::List, Some(Value::Array(items))) => {
            write_joined(out, ['[', ']'], items, |item, out| write_one(field.ty, Some(item), out));
        }
        (Cardinality::Map, Some(Value::Object(members))) => {
            write_joined(out, ['{', '}'], members, |(key, value), out| {
                write_string(key, out);
                out.push(':');
                write_one(field.ty, Some(value), out);
            });
        }
        _ => out.push_str("null"),
    }
}

fn write_one(ty: Type, value: Option<&Value>, out: &mut String) {
    match (ty, value) {
        (Type::Message(message), value) => write_message(message, value, out),
        (_, Some(value)) => write_value(value, out),
        (Type::String | Type::Bytes, None) => out.push_str("\"\""),
        (Type::Bool, None) => out.push_str("false"),
        (Type::Int32 | Type::Int64 | Type::Double, None) => out.push('0'),
        (Type::Any, None) => out.push_str("null"),
    }
}

fn write_message(message: &Message, value: Option<&Value>, out: &mut String) {
    match (message.shape, value) {
        (Shape::Struct, value) => {
            let absent = Object::new();
            write_struct(message, value.and_then(Value::as_object).unwrap_or(&absent), out);
        }
        (Shape::Quantity, None) => out.push_str("\"0\""),
        (_, Some(value)) => write_value(value, out),
        (_, None) => out.push_str("null"),
    }
}

/// Writes any value, keys in bytewise order.
pub(super) fn write_value(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
        Value::Number(number) => write_number(number, out),
        Value::String(text) => write_string(text, out),
        Value::Array(items) => write_joined(out, ['[', ']'], items, write_value),
        Value::Object(members) => write_joined(out, ['{', '}'], members, |(key, value), out| {
            write_string(key, out);
            out.push(':');
            write_value(value, out);
        }),
    }
}

fn write_joined<I: IntoIterator>(
    out: &mut String,
    [open, close]: [char; 2],
    items: I,
    mut write: impl FnMut(I::Item, &mut String),
) {
    out.push(open);
    for (index, item) in items.into_iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        write(item, out);
    }
    out.push(close);
}

fn write_number(number: &Number, out: &mut String) {
    let _ = match (number.as_i64(), number.as_f64()) {
        (Some(integer), _) => write!(out, "{integer}"),
        (None, Some(double)) => return write_double(double, out),
        (None, None) => write!(out, "{number}"),
    };
}

/// The shortest digits that read back the same; an exponent below 1e-6 and from 1e21.
fn write_double(double: f64, out: &mut String) {
    let magnitude = double.abs();
    let _ = match magnitude {
        0.0 => write!(out, "{double}"),
        m if m >= 1e21 => write!(out, "{}", format!("{double:e}").replace('e', "e+")),
        m if m < 1e-6 => write!(out, "{double:e}"),
        _ => write!(out, "{double}"),
    };
}

/// A JSON string with what HTML might misread escaped, as Go does by default.
pub(super) fn write_string(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        let _ = match c {
            '"' => out.write_str("\\\""),
            '\\' => out.write_str("\\\\"),
            '\n' => out.write_str("\\n"),
            '\r' => out.write_str("\\r"),
            '\t' => out.write_str("\\t"),
            '\u{8}' => out.write_str("\\b"),
            '\u{c}' => out.write_str("\\f"),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\0'..' ' => {
                write!(out, "\\u{:04x}", u32::from(c))
            }
            c => out.write_char(c),
        };
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<&str>) {
        assert_eq!(canonical(text).as_deref(), expected, "{text}");
    }

    #[test]
    fn raw_values_take_the_form_go_gives_them() {
        check(r#" { "b" : [ 1 , 2 ] , "a" : null } "#, Some(r#"{"a":null,"b":[1,2]}"#));
        check("1.0", Some("1"));
        check("1e3", Some("1000"));
        check("1e21", Some("1e+21"));
        check("1e-7", Some("1e-7"));
        check("0.000001", Some("0.000001"));
        check("9223372036854775807", Some("9223372036854775807"));
        check("9223372036854775808", Some("9223372036854775808"));
        check("18446744073709551616", Some("18446744073709552000"));
        check(r#""<a>& \u2028\b\u0001é""#, Some("\"\\u003ca\\u003e\\u0026 \\u2028\\b\\u0001é\""));
        check("{", None);
    }
}
