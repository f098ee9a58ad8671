//! FieldsV1, the JSON text of a set: `{"f:spec":{".":{},"f:replicas":{}}}`. Each step is a member; the prefix
//! of its name is its kind (`f:` field, `k:` keys, `v:` value, `i:` index). `.` means that a step with
//! children is itself in the set.
//!
//! The text is identical to upstream's, so that an unchanged set leaves the object unchanged.

use apimachinery::strconv::atoi;
use compact_str::CompactString;
use jsontree::{Number, Object, Value};

use super::{Node, PathElement, Set};
use schema::json::Error;
use schema::json::Scanner;
use schema::json_write::plain_len;
use schema::json_write::{write_double, write_integer};

/// Parse error of a set (`fieldsV1`), in upstream's wording.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FieldsError {
    /// Invalid syntax, or too many levels.
    #[error(transparent)]
    Json(#[from] Error),
    /// A level is not an object, or a part of a step's name is invalid.
    #[error("{0}")]
    Invalid(String),
    /// An invalid name of a step.
    #[error("parsing key as path element: {0}")]
    Name(#[source] Box<FieldsError>),
}

/// Integers up to this size are exact as doubles and have the same text.
const EXACT_MAX: f64 = 9_007_199_254_740_992.0;

impl Set {
    /// Parses FieldsV1. Steps of an unknown kind are dropped with their children, because a later version may
    /// define them. Numbers in keys and values become doubles, as in upstream.
    ///
    /// # Errors
    /// Invalid syntax, more text after the set, a level that is not an object, an invalid step name, or more levels than
    /// [`TREE_DEPTH_MAX`](schema::json::TREE_DEPTH_MAX).
    pub fn parse(text: &[u8]) -> Result<Set, FieldsError> {
        read_whole(text, read_level).map(|level| level.children)
    }

    /// Appends FieldsV1.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.push(b'{');
        self.write_nodes(&mut Vec::new(), out);
        out.push(b'}');
    }

    fn write_nodes(&self, scratch: &mut Vec<u8>, out: &mut Vec<u8>) {
        for (index, node) in self.nodes.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            write_name(&node.element, scratch, out);
            out.extend_from_slice(b":{");
            if node.member && !node.children.is_empty() {
                out.extend_from_slice(br#"".":{},"#);
            }
            node.children.write_nodes(scratch, out);
            out.push(b'}');
        }
    }

    /// Sorts parsed steps. If a step is duplicate, its later children win.
    fn of_read(mut nodes: Vec<Node>) -> Set {
        if !nodes.is_sorted_by(|a, b| a.element < b.element) {
            nodes.sort_by(|a, b| a.element.cmp(&b.element));
            nodes.dedup_by(|later, earlier| {
                let is_duplicate = later.element == earlier.element;
                if is_duplicate {
                    earlier.member |= later.member;
                    if !later.children.is_empty() {
                        earlier.children = std::mem::take(&mut later.children);
                    }
                }
                is_duplicate
            });
        }
        Set { nodes }
    }
}

/// A parsed level.
struct Level {
    /// True if the step itself is in the set.
    member: bool,
    children: Set,
}

fn read_level(scan: &mut Scanner<'_>) -> Result<Level, FieldsError> {
    let mut level = Level { member: false, children: Set::new() };
    match scan.value_start()? {
        b'{' => {
            scan.open()?;
            read_members(scan, &mut level)?;
        }
        b'n' => scan.word()?,
        c => return Err(FieldsError::Invalid(format!("expect {{ or n, but found {}", char::from(c)))),
    }
    level.member |= level.children.is_empty();
    Ok(level)
}

fn read_members(scan: &mut Scanner<'_>, level: &mut Level) -> Result<(), FieldsError> {
    let mut first = true;
    let mut nodes = Vec::new();
    while let Some(name) = scan.next_member(first)? {
        first = false;
        let name = name.text();
        if name == "." {
            level.member = true;
            scan.skip()?;
            continue;
        }
        let element = read_element(&name).map_err(|error| FieldsError::Name(Box::new(error)))?;
        match element {
            Some(element) => {
                let Level { member, children } = read_level(scan)?;
                nodes.push(Node { element, member, children });
            }
            None => drop(scan.skip()?),
        }
    }
    nodes.shrink_to_fit();
    level.children = Set::of_read(nodes);
    Ok(())
}

/// Parses a step's name; `None` if its kind is unknown.
pub(super) fn read_element(name: &str) -> Result<Option<PathElement>, FieldsError> {
    let (kind, rest) = match name.as_bytes() {
        [] | [_] => return Err(FieldsError::Invalid("key must be 2 characters long:".to_owned())),
        [kind, b':', ..] => (*kind, name.get(2..).unwrap_or_default()),
        _ => return Err(FieldsError::Invalid(format!("missing colon: {name}"))),
    };
    Ok(Some(match kind {
        b'f' => PathElement::Field(CompactString::new(rest)),
        b'v' => PathElement::Value(read_whole(rest.as_bytes(), read_value)?),
        b'k' => PathElement::key(read_whole(rest.as_bytes(), read_keys)?),
        b'i' => PathElement::Index(atoi(rest).map_err(|error| FieldsError::Invalid(error.to_string()))?),
        _ => return Ok(None),
    }))
}

/// Parses a text that must not continue after the value.
fn read_whole<T, E>(
    text: &[u8],
    read: impl FnOnce(&mut Scanner<'_>) -> Result<T, E>,
) -> Result<T, FieldsError>
where
    FieldsError: From<E>,
{
    let mut scan = Scanner::new(text);
    let value = read(&mut scan)?;
    scan.end()?;
    Ok(value)
}

fn read_keys(scan: &mut Scanner<'_>) -> Result<Vec<(CompactString, Value)>, FieldsError> {
    let mut fields = Vec::new();
    match scan.value_start()? {
        b'{' => scan.open()?,
        b'n' => return scan.word().map(|()| fields).map_err(FieldsError::Json),
        c => return Err(FieldsError::Invalid(format!("expect {{ or n, but found {}", char::from(c)))),
    }
    while let Some(name) = scan.next_member(fields.is_empty())? {
        let name = CompactString::from(name.text());
        fields.push((name, read_value(scan)?));
    }
    Ok(fields)
}

fn read_value(scan: &mut Scanner<'_>) -> Result<Value, Error> {
    Ok(match scan.value_start()? {
        b'"' => Value::from(scan.string()?.text()),
        b'n' => scan.word().map(|()| Value::Null)?,
        start @ (b't' | b'f') => scan.word().map(|()| Value::Bool(start == b't'))?,
        b'{' => {
            scan.open()?;
            let mut members = Object::new();
            let mut first = true;
            while let Some(name) = scan.next_member(first)? {
                first = false;
                members.insert(name.text().into_owned(), read_value(scan)?);
            }
            Value::Object(members)
        }
        b'[' => {
            scan.open()?;
            let mut items = Vec::new();
            while scan.next_item(items.is_empty())? {
                items.push(read_value(scan)?);
            }
            Value::Array(items)
        }
        _ => {
            let text = scan.number()?;
            let number = text.parse().ok().and_then(Number::from_f64);
            Value::Number(number.ok_or_else(|| Error::Value(format!("number out of range: {text}")))?)
        }
    })
}

/// Appends the quoted member name of a step. Kinds other than fields contain JSON within the JSON string.
fn write_name(element: &PathElement, scratch: &mut Vec<u8>, out: &mut Vec<u8>) {
    let kind = match element {
        PathElement::Field(name) => {
            out.extend_from_slice(b"\"f:");
            write_escaped(name, Html::Plain, out);
            return out.push(b'"');
        }
        PathElement::Index(index) => {
            out.extend_from_slice(b"\"i:");
            write_integer(*index, out);
            return out.push(b'"');
        }
        PathElement::Key(_) => b"\"k:",
        PathElement::Value(_) => b"\"v:",
    };
    scratch.clear();
    match element {
        PathElement::Key(fields) => write_keys(fields, scratch),
        PathElement::Value(value) => write_value(value, scratch),
        PathElement::Field(_) | PathElement::Index(_) => {}
    }
    out.extend_from_slice(kind);
    write_escaped(&String::from_utf8_lossy(scratch), Html::Plain, out);
    out.push(b'"');
}

fn write_keys(fields: &[(CompactString, Value)], out: &mut Vec<u8>) {
    out.push(b'{');
    for (index, (name, value)) in fields.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write_quoted(name, Html::Plain, out);
        out.push(b':');
        write_value(value, out);
    }
    out.push(b'}');
}

fn write_value(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(value) => out.extend_from_slice(if *value { b"true" } else { b"false" }),
        Value::Number(number) => write_number(number, out),
        Value::String(text) => write_quoted(text, Html::Escaped, out),
        Value::Raw(text) => out.extend_from_slice(text.as_bytes()),
        Value::Array(items) => {
            out.push(b'[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                write_value(item, out);
            }
            out.push(b']');
        }
        Value::Object(members) => {
            out.push(b'{');
            for (index, (name, value)) in members.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                write_quoted(name, Html::Escaped, out);
                out.push(b':');
                write_value(value, out);
            }
            out.push(b'}');
        }
    }
}

/// Formats doubles like Go, with exponents of at least two digits. Go's own JSON encoder would shorten these;
/// upstream's encoder does not.
fn write_number(number: &Number, out: &mut Vec<u8>) {
    let float = match (number.as_i64(), number.as_f64()) {
        (Some(whole), _) => return write_integer(whole, out),
        (None, float) => float.unwrap_or_default(),
    };
    if float.fract() == 0.0 && float.abs() <= EXACT_MAX && (float != 0.0 || float.is_sign_positive()) {
        return write_integer(float as i64, out);
    }
    let start = out.len();
    // Only infinite numbers and NaN fail, and JSON text cannot contain them.
    let _ = write_double(float, out);
    if let Some([.., b'e', b'-', last]) = out.get(start..) {
        let last = *last;
        out.pop();
        out.extend_from_slice(&[b'0', last]);
    }
}

/// Escaping of `<`, `>`, `&` and the Unicode line separators. Upstream escapes them in values, not in names.
#[derive(Clone, Copy, PartialEq)]
enum Html {
    Escaped,
    Plain,
}

fn write_quoted(text: &str, html: Html, out: &mut Vec<u8>) {
    out.push(b'"');
    write_escaped(text, html, out);
    out.push(b'"');
}

fn write_escaped(text: &str, html: Html, out: &mut Vec<u8>) {
    let mut rest = text;
    loop {
        let (plain, tail) = rest.split_at_checked(plain_len(rest.as_bytes())).unwrap_or((rest, ""));
        out.extend_from_slice(plain.as_bytes());
        let mut chars = tail.chars();
        let Some(c) = chars.next() else { return };
        rest = chars.as_str();
        write_char(c, html, out);
    }
}

fn write_char(c: char, html: Html, out: &mut Vec<u8>) {
    let letter = match c {
        '"' => b'"',
        '\\' => b'\\',
        '\n' => b'n',
        '\r' => b'r',
        '\t' => b't',
        '\0'..' ' => return write_code(c, out),
        '<' | '>' | '&' | '\u{2028}' | '\u{2029}' if html == Html::Escaped => return write_code(c, out),
        _ => return out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
    };
    out.extend_from_slice(&[b'\\', letter]);
}

fn write_code(c: char, out: &mut Vec<u8>) {
    out.extend_from_slice(format!("\\u{:04x}", u32::from(c)).as_bytes());
}
