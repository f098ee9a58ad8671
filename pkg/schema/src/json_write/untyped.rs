//! Untyped trees: custom resources, and fields of any type.

use jsontree::{Number, Value};
use smallvec::SmallVec;

use super::{Error, write_double, write_string};

/// A list or object that is being encoded.
enum Open<'a> {
    List(std::slice::Iter<'a, Value>),
    Object(jsontree::Iter<'a>),
}

/// Appends a value as Go encodes a `map[string]any`: members in bytewise order, integers plain, other numbers
/// as float64. Not recursive, so deep values do not use the stack.
///
/// # Errors
/// A number is not finite (no decoder accepts such numbers).
pub fn untyped(value: &Value, out: &mut Vec<u8>) -> Result<(), Error> {
    let mut open: SmallVec<[Open; 8]> = SmallVec::new();
    open.extend(begin(value, out)?);
    while let Some(innermost) = open.last_mut() {
        let next = match innermost {
            Open::List(items) => items.next().inspect(|_| comma(b'[', out)),
            Open::Object(members) => members.next().map(|(name, value)| {
                comma(b'{', out);
                write_string(name.as_bytes(), out);
                out.push(b':');
                value
            }),
        };
        match next {
            Some(value) => open.extend(begin(value, out)?),
            None => {
                out.push(if matches!(innermost, Open::List(_)) { b']' } else { b'}' });
                open.pop();
            }
        }
    }
    Ok(())
}

/// No value ends in an opening bracket.
fn comma(opening: u8, out: &mut Vec<u8>) {
    if out.last() != Some(&opening) {
        out.push(b',');
    }
}

/// Writes a scalar, or begins a list or an object.
fn begin<'a>(value: &'a Value, out: &mut Vec<u8>) -> Result<Option<Open<'a>>, Error> {
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        Value::String(text) => write_string(text.as_bytes(), out),
        Value::Number(value) => number(value, out)?,
        Value::Raw(text) => out.extend_from_slice(text.as_bytes()),
        Value::Array(items) => {
            out.push(b'[');
            return Ok(Some(Open::List(items.iter())));
        }
        Value::Object(members) => {
            out.push(b'{');
            return Ok(Some(Open::Object(members.iter())));
        }
    }
    Ok(None)
}

/// Appends a number: integers plain, others as float64.
pub(crate) fn number(value: &Number, out: &mut Vec<u8>) -> Result<(), Error> {
    match (value.as_i64(), value.as_u64()) {
        (Some(int), _) => out.extend_from_slice(itoa::Buffer::new().format(int).as_bytes()),
        (_, Some(int)) => out.extend_from_slice(itoa::Buffer::new().format(int).as_bytes()),
        _ => write_double(value.as_f64().unwrap_or(f64::NAN), out)?,
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use jsontree::json;

    #[test]
    fn maps_are_encoded_like_go() {
        let check = |value: Value, expected: &str| {
            let mut out = Vec::new();
            untyped(&value, &mut out).unwrap();
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        };
        check(json!(null), "null");
        check(json!({}), "{}");
        check(json!([[], {}, [{}]]), "[[],{},[{}]]");
        check(
            json!({"b": 1, "a": [true, 1.5, 1e21, "<", {"x": null}]}),
            r#"{"a":[true,1.5,1e+21,"\u003c",{"x":null}],"b":1}"#,
        );
        check(json!(i64::MIN), "-9223372036854775808");
        check(json!(2.0), "2");
        check(json!({"[": 1, "{": 2}), r#"{"[":1,"{":2}"#);
    }
}
