//! Values that a path selects.

use jsontree::{Number, Object, Value};

/// Selected value: part of the object, or a literal of the path.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SelectedValue<'a> {
    Null,
    Bool(bool),
    /// Number that Go represents as an `int64`.
    Int(i64),
    /// Any other number.
    Float(f64),
    Text(&'a str),
    List(&'a [Value]),
    Object(&'a Object),
    /// Integer literal of the path. Go treats it differently from integers of objects.
    Literal(i64),
    /// Byte of a string, as wildcards select it.
    Byte(u8),
}

impl<'a> SelectedValue<'a> {
    pub fn of(value: &'a Value) -> Self {
        match value {
            Value::Null => SelectedValue::Null,
            Value::Bool(flag) => SelectedValue::Bool(*flag),
            Value::Number(number) => Self::number(number),
            Value::String(text) => SelectedValue::Text(text),
            Value::Array(items) => SelectedValue::List(items),
            Value::Object(members) => SelectedValue::Object(members),
            Value::Raw(text) => SelectedValue::Text(text),
        }
    }

    fn number(number: &Number) -> Self {
        match number.as_i64() {
            Some(integer) => SelectedValue::Int(integer),
            None => SelectedValue::Float(number.as_f64().unwrap_or_default()),
        }
    }

    /// True if the value has items, members or bytes.
    pub(super) fn has_parts(self) -> bool {
        match self {
            SelectedValue::List(items) => !items.is_empty(),
            SelectedValue::Object(members) => !members.is_empty(),
            SelectedValue::Text(text) => !text.is_empty(),
            _ => false,
        }
    }

    /// Formats the value like `fmt.Fprint` and `json.Marshal`.
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
    // Non-finite numbers cannot be written, but no decoder accepts them.
    let _ = schema::json_write::untyped(value, out);
}

/// Formats a double like Go's `%v`: with an exponent of at least two digits below 10⁻⁴ and from 10⁶ on.
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
