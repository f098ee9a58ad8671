//! Values as formatted by Go's `%v`, for error texts.

use std::fmt::Write;

use apimachinery::go_number::general;
use jsontree::Value;

use crate::object::go_type;

use crate::object::Object;

/// A value as formatted by `%s`, which marks scalars that are not strings.
pub(super) fn text(value: &Value) -> String {
    if value.is_null() { "%!s(<nil>)".to_owned() } else { nested_text(value) }
}

/// The same within a list or a map, where null is not marked.
fn nested_text(value: &Value) -> String {
    let join = |parts: Vec<String>| parts.join(" ");
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::String(text) => text.to_string(),
        Value::Array(items) => format!("[{}]", join(items.iter().map(nested_text).collect())),
        Value::Object(members) => {
            let members = members.iter().map(|(name, value)| format!("{name}:{}", nested_text(value)));
            format!("map[{}]", join(members.collect()))
        }
        scalar => {
            let mut text = String::new();
            push(&mut text, scalar);
            format!("%!s({}={text})", type_name(scalar))
        }
    }
}

pub(super) fn object(object: &Object) -> String {
    let mut out = String::new();
    push_object(&mut out, object);
    out
}

pub(super) fn list(items: &[Value]) -> String {
    let mut out = String::new();
    push_list(&mut out, items);
    out
}

/// A value's Go type, as formatted by `%s`.
pub(super) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "%!s(<nil>)",
        value => go_type(value),
    }
}

/// The Go kind of a value (`reflect.Kind`).
pub(super) fn kind_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "invalid",
        Value::Array(_) => "slice",
        Value::Object(_) | Value::Raw(_) => "map",
        scalar => type_name(scalar),
    }
}

fn push(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("<nil>"),
        Value::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() => out.push_str(&general(float)),
            _ => {
                let _ = write!(out, "{number}");
            }
        },
        Value::String(text) => out.push_str(text),
        Value::Array(items) => push_list(out, items),
        Value::Object(object) => push_object(out, object),
        Value::Raw(text) => out.push_str(text),
    }
}

fn push_list(out: &mut String, items: &[Value]) {
    out.push('[');
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push(' ');
        }
        push(out, item);
    }
    out.push(']');
}

fn push_object(out: &mut String, object: &Object) {
    out.push_str("map[");
    for (index, (name, value)) in object.iter().enumerate() {
        if index > 0 {
            out.push(' ');
        }
        out.push_str(name);
        out.push(':');
        push(out, value);
    }
    out.push(']');
}
