//! Values as Go's `%v` prints them, inside error texts.

use std::fmt::Write;

use serde_json::Value;

use crate::object::Object;

/// A value: `map[a:1 b:[x y]]`.
pub(super) fn value(value: &Value) -> String {
    let mut out = String::new();
    push(&mut out, value);
    out
}

/// An object.
pub(super) fn object(object: &Object) -> String {
    let mut out = String::new();
    push_object(&mut out, object);
    out
}

/// A list.
pub(super) fn list(items: &[Value]) -> String {
    let mut out = String::new();
    push_list(&mut out, items);
    out
}

/// A value's Go type, as `%s` prints it.
pub(super) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "%!s(<nil>)",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

fn push(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("<nil>"),
        Value::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() => push_float(out, float),
            _ => {
                let _ = write!(out, "{number}");
            }
        },
        Value::String(text) => out.push_str(text),
        Value::Array(items) => push_list(out, items),
        Value::Object(object) => push_object(out, object),
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

/// With an exponent below 10⁻⁴ and from 10²¹ on.
fn push_float(out: &mut String, value: f64) {
    let scientific = format!("{value:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let _ = match exponent {
        -4..21 => write!(out, "{value}"),
        _ => write!(out, "{mantissa}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs()),
    };
}
