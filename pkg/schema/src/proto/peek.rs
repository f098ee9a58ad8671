//! Single values from an encoded object, for selectors and indexes.

use super::index::entry;
use super::wire::{BYTES, FIXED64, Reader, VARINT};
use crate::table::{Cardinality, Field, Message, Shape, Type};

/// A scalar, borrowed from an object's bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ScalarRef<'a> {
    /// UTF-8 text.
    Str(&'a str),
    /// A boolean.
    Bool(bool),
    /// An integer of either width.
    Int(i64),
    /// A 64-bit floating-point number.
    Double(f64),
    /// Bytes (base64 in JSON), or the text of a raw JSON value.
    Bytes(&'a [u8]),
}

impl<'a> ScalarRef<'a> {
    /// The text; `None` for other types.
    pub fn as_str(self) -> Option<&'a str> {
        match self {
            ScalarRef::Str(text) => Some(text),
            _ => None,
        }
    }
}

/// The value at a path of JSON names, such as `["spec", "nodeName"]`. A list is represented by its first
/// element (`["status", "podIPs", "ip"]`); a map's key is a step of the path. `None` if the path does not
/// lead to an encoded scalar, or if the bytes are malformed. In canonical bytes non-pointer scalars are
/// always encoded.
pub fn field_at<'a>(raw: &'a [u8], message: &'static Message, path: &[&str]) -> Option<ScalarRef<'a>> {
    let (name, rest) = path.split_first()?;
    for field in message.fields.iter().filter(|f| f.number > 0) {
        if field.inlined() {
            let Type::Message(inner) = field.ty else { continue };
            let value = find_last(raw, field, |reader, _| field_at(reader.bytes().ok()?, inner, path));
            if value.is_some() {
                return value;
            }
        } else if field.name == *name {
            return match field.cardinality {
                Cardinality::One => {
                    find_last(raw, field, |reader, wire_type| value(reader, wire_type, field.ty, rest))
                }
                Cardinality::List => first(raw, field, rest),
                Cardinality::Map => {
                    let (key, rest) = rest.split_first()?;
                    find_last(raw, field, |reader, _| {
                        let (name, payload) = entry(reader.bytes().ok()?).ok()?;
                        (name == key.as_bytes()).then(|| content(payload, field.ty, rest))?
                    })
                }
            };
        }
    }
    None
}

/// The last occurrence of a field that has a result: later occurrences override earlier ones.
fn find_last<'a>(
    raw: &'a [u8],
    field: &Field,
    mut look: impl FnMut(&mut Reader<'a>, u8) -> Option<ScalarRef<'a>>,
) -> Option<ScalarRef<'a>> {
    let mut reader = Reader::new(raw);
    let mut last = None;
    while !reader.done() {
        let key = reader.entry_key().ok()?;
        if key.number == field.number {
            last = look(&mut reader.clone(), key.wire_type).or(last);
        }
        reader.skip(key.wire_type).ok()?;
    }
    last
}

fn first<'a>(raw: &'a [u8], field: &Field, path: &[&str]) -> Option<ScalarRef<'a>> {
    let mut reader = Reader::new(raw);
    while !reader.done() {
        let key = reader.entry_key().ok()?;
        if key.number == field.number {
            return value(&mut reader, key.wire_type, field.ty, path);
        }
        reader.skip(key.wire_type).ok()?;
    }
    None
}

fn value<'a>(reader: &mut Reader<'a>, wire_type: u8, ty: Type, path: &[&str]) -> Option<ScalarRef<'a>> {
    match (wire_type, ty) {
        (BYTES, ty) => content(reader.bytes().ok()?, ty, path),
        (VARINT, Type::Bool) => Some(ScalarRef::Bool(reader.varint().ok()? != 0)),
        (VARINT, Type::Int32) => Some(ScalarRef::Int(i64::from(reader.varint().ok()? as i32))),
        (VARINT, Type::Int64) => Some(ScalarRef::Int(reader.varint().ok()? as i64)),
        (FIXED64, Type::Double) => Some(ScalarRef::Double(reader.double().ok()?)),
        _ => None,
    }
}

fn content<'a>(payload: &'a [u8], ty: Type, path: &[&str]) -> Option<ScalarRef<'a>> {
    match ty {
        Type::String if path.is_empty() => std::str::from_utf8(payload).ok().map(ScalarRef::Str),
        Type::Bytes if path.is_empty() => Some(ScalarRef::Bytes(payload)),
        Type::Message(inner) => match inner.shape {
            Shape::Struct => field_at(payload, inner, path),
            Shape::Wrapper => first(payload, inner.fields.first()?, path),
            Shape::Quantity | Shape::FieldsV1 | Shape::RawExtension | Shape::Json if path.is_empty() => {
                find_last(payload, inner.fields.first()?, |reader, _| {
                    content(reader.bytes().ok()?, inner.fields.first()?.ty, path)
                })
            }
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin::IO_K8S_API_CORE_V1_POD as POD;
    use crate::proto::encode;
    use jsontree::json;

    #[test]
    fn selectable_fields_are_read_without_decoding() {
        let pod = json!({
            "metadata": {"labels": {"a": "1", "b": "2"}},
            "spec": {
                "nodeName": "n1", "hostNetwork": true, "priority": -5,
                "volumes": [{"name": "v", "hostPath": {"path": "/p"}}],
                "containers": [{"name": "c", "resources": {"limits": {"cpu": "100m"}}}],
            },
            "status": {"phase": "Running", "podIPs": [{"ip": "10.0.0.1"}, {"ip": "10.0.0.2"}]},
        });
        let mut raw = Vec::new();
        encode(&POD, pod.as_object().unwrap(), &mut raw).unwrap();
        let check = |path: &[&str], expected| assert_eq!(field_at(&raw, &POD, path), expected, "{path:?}");
        check(&["spec", "nodeName"], Some(ScalarRef::Str("n1")));
        check(&["spec", "hostNetwork"], Some(ScalarRef::Bool(true)));
        check(&["spec", "priority"], Some(ScalarRef::Int(-5)));
        check(&["spec", "schedulerName"], Some(ScalarRef::Str("")));
        check(&["spec", "runtimeClassName"], None);
        check(&["status", "phase"], Some(ScalarRef::Str("Running")));
        check(&["status", "podIPs", "ip"], Some(ScalarRef::Str("10.0.0.1")));
        check(&["metadata", "labels", "b"], Some(ScalarRef::Str("2")));
        check(&["metadata", "labels", "c"], None);
        check(&["spec", "volumes", "hostPath", "path"], Some(ScalarRef::Str("/p")));
        check(&["spec", "containers", "resources", "limits", "cpu"], Some(ScalarRef::Str("100m")));
        check(&["spec"], None);
        check(&[], None);
    }
}
