//! Texts of Go's JSON encoder and decoder.

use std::fmt::Write as _;

use jsontree::Value;

use crate::go_number;

/// Name of a value's type in errors of Go's decoder (`encoding/json`): `cannot unmarshal array into …`.
#[must_use]
pub fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) | Value::Raw(_) => "object",
    }
}

/// Encodes a value like Go's encoder (`encoding/json`): compact, with `<`, `>` and `&` escaped, and numbers without a
/// fraction as integers.
#[must_use]
pub fn encode(value: &Value) -> String {
    let mut out = String::new();
    push(value, &mut out);
    out
}

fn push(value: &Value, out: &mut String) {
    match value {
        Value::Number(number) if number.is_f64() => {
            out.push_str(&go_number::json(number.as_f64().unwrap_or_default()));
        }
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                push(item, out);
            }
            out.push(']');
        }
        Value::Object(members) => {
            out.push('{');
            for (index, (name, member)) in members.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                push_text(name, out);
                out.push(':');
                push(member, out);
            }
            out.push('}');
        }
        Value::String(text) => push_text(text, out),
        other => out.push_str(&other.to_string()),
    }
}

fn push_text(text: &str, out: &mut String) {
    for c in Value::from(text).to_string().chars() {
        match c {
            // These characters only occur inside of strings.
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use jsontree::json;

    use super::*;

    #[test]
    fn values_are_encoded_like_go() {
        let check = |value: Value, expected: &str| assert_eq!(encode(&value), expected);
        check(json!([1.0, 1, 2.5, 1e21, -1e-7]), "[1,1,2.5,1e+21,-1e-7]");
        check(
            json!({"b": [null, true], "a<": "x>&\u{2028}\"\n"}),
            r#"{"a\u003c":"x\u003e\u0026\u2028\"\n","b":[null,true]}"#,
        );
        check(json!([]), "[]");
        check(json!({}), "{}");
    }
}
