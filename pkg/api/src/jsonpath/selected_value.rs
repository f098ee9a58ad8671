//! What a path selects.

use jsontree::{Number, Object, Value};

/// A value: of the object, or one that the path itself names.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SelectedValue<'a> {
    /// `null`
    Null,
    /// A boolean.
    Bool(bool),
    /// A number that Go holds as an `int64`.
    Int(i64),
    /// Any other number.
    Float(f64),
    /// A string.
    Text(&'a str),
    /// A list.
    List(&'a [Value]),
    /// An object.
    Object(&'a Object),
    /// An integer of the path, which Go keeps apart from those of objects.
    Literal(i64),
    /// What a string consists of, as wildcards see it.
    Byte(u8),
}

impl<'a> SelectedValue<'a> {
    /// A value of an object.
    pub fn of(value: &'a Value) -> Self {
        match value {
            Value::Null => SelectedValue::Null,
            Value::Bool(flag) => SelectedValue::Bool(*flag),
            Value::Number(number) => Self::number(number),
            Value::String(text) => SelectedValue::Text(text),
            Value::Array(items) => SelectedValue::List(items),
            Value::Object(members) => SelectedValue::Object(members),
        }
    }

    fn number(number: &Number) -> Self {
        match number.as_i64() {
            Some(integer) => SelectedValue::Int(integer),
            None => SelectedValue::Float(number.as_f64().unwrap_or_default()),
        }
    }

    /// Whether there is something in it.
    pub(super) fn has_parts(self) -> bool {
        match self {
            SelectedValue::List(items) => !items.is_empty(),
            SelectedValue::Object(members) => !members.is_empty(),
            SelectedValue::Text(text) => !text.is_empty(),
            _ => false,
        }
    }

    /// As `fmt.Fprint` and `json.Marshal` print it.
    pub fn text(self) -> String {
        match self {
            SelectedValue::Null => "<no value>".to_owned(),
            SelectedValue::Bool(flag) => flag.to_string(),
            SelectedValue::Int(number) | SelectedValue::Literal(number) => number.to_string(),
            SelectedValue::Float(number) => go_float(number),
            SelectedValue::Text(text) => text.to_owned(),
            SelectedValue::Byte(byte) => byte.to_string(),
            SelectedValue::List(items) => json(b"[]", |out| {
                for item in items {
                    separate(out);
                    value(item, out);
                }
            }),
            SelectedValue::Object(members) => json(b"{}", |out| {
                for (name, member) in members {
                    separate(out);
                    schema::json_write::write_string(name.as_bytes(), out);
                    out.push(b':');
                    value(member, out);
                }
            }),
        }
    }
}

fn json(&[open, close]: &[u8; 2], write: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut out = vec![open];
    write(&mut out);
    out.push(close);
    String::from_utf8(out).unwrap_or_default()
}

fn separate(out: &mut Vec<u8>) {
    if out.len() > 1 {
        out.push(b',');
    }
}

fn value(value: &Value, out: &mut Vec<u8>) {
    // No decoder lets in what cannot be written: numbers that are not finite.
    let _ = schema::json_write::untyped(value, out);
}

/// Go's `%v` of a double: with an exponent, of at least two digits, below 10⁻⁴ and from 10⁶ on.
fn go_float(number: f64) -> String {
    let scientific = format!("{number:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    match exponent.parse::<i32>().unwrap_or_default() {
        -4..6 => number.to_string(),
        exponent => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs())
        }
    }
}
