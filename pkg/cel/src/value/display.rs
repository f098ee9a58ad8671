//! Formats values like Go, for error texts.

use std::fmt::Write;

use super::{List, ListKind, Map, Value};

/// Formats a value like Go's `%v`. Long texts are truncated.
pub fn text(value: Value<'_>) -> String {
    let mut out = String::new();
    write(&mut out, value, 0);
    out
}

/// Maximum length in bytes before truncation.
const TEXT_MAX: usize = 1 << 16;
/// Maximum nesting depth; deeper values are omitted.
const DEPTH_MAX: u32 = 200;

fn write(out: &mut String, value: Value<'_>, depth: u32) {
    if out.len() > TEXT_MAX || depth > DEPTH_MAX {
        return;
    }
    // Writing to a string does not fail.
    let _ = match value {
        Value::Null => write!(out, "0"),
        Value::Bool(value) => write!(out, "{value}"),
        Value::Int(int) => write!(out, "{int}"),
        Value::Uint(uint) => write!(out, "{uint}"),
        Value::Double(value) => write!(out, "{}", crate::print::double(value)),
        Value::String(text) | Value::Error(text) | Value::Type(text) => {
            let end = text.floor_char_boundary(TEXT_MAX);
            write!(out, "{}", &text[..end])
        }
        Value::Bytes(bytes) => {
            let numbers: Vec<_> = bytes.iter().take(TEXT_MAX).map(u8::to_string).collect();
            write!(out, "[{}]", numbers.join(" "))
        }
        Value::Duration(nanos) => write!(out, "{}", apimachinery::time::format_duration(nanos)),
        Value::Timestamp(at) => write!(out, "{}", at.text()),
        Value::List(list) => {
            write_list(out, list, depth + 1);
            Ok(())
        }
        Value::Map(map) => {
            write_map(out, map, depth + 1);
            Ok(())
        }
        Value::Optional(None) => write!(out, "optional.none()"),
        Value::Optional(Some(value)) => {
            out.push_str("optional(");
            write(out, *value, depth + 1);
            write!(out, ")")
        }
        Value::Opaque(opaque) => write!(out, "{}", opaque.text()),
        Value::Preserved(data) => write!(out, "{data}"),
    };
}

fn write_list(out: &mut String, list: List<'_>, depth: u32) {
    // In cel-go host data are not CEL values until an element is accessed.
    let of_host = matches!(list, List::Tree(_) | List::Stored(_) | List::Message(_));
    let write = if of_host { write_native } else { write };
    out.push('[');
    for (place, value) in list.iter().enumerate() {
        if out.len() > TEXT_MAX {
            break;
        }
        if place > 0 {
            out.push_str(", ");
        }
        write(out, value, depth);
    }
    out.push(']');
}

/// Writes a part of host data like Go writes its native values.
fn write_native(out: &mut String, value: Value<'_>, depth: u32) {
    if depth > DEPTH_MAX {
        return;
    }
    match value {
        Value::Null => out.push_str("<nil>"),
        Value::List(list) => {
            out.push('[');
            for (place, value) in list.iter().enumerate() {
                if out.len() > TEXT_MAX {
                    break;
                }
                out.push_str(if place > 0 { " " } else { "" });
                write_native(out, value, depth + 1);
            }
            out.push(']');
        }
        Value::Map(map) => {
            out.push_str("map[");
            for (place, (key, value)) in map.iter().enumerate() {
                if out.len() > TEXT_MAX {
                    break;
                }
                out.push_str(if place > 0 { " " } else { "" });
                write(out, key, depth + 1);
                out.push(':');
                write_native(out, value, depth + 1);
            }
            out.push(']');
        }
        value => write(out, value, depth),
    }
}

fn write_map(out: &mut String, map: Map<'_>, depth: u32) {
    out.push('{');
    for (place, (key, value)) in map.iter().enumerate() {
        if out.len() > TEXT_MAX {
            break;
        }
        if place > 0 {
            out.push_str(", ");
        }
        write(out, key, depth);
        out.push_str(": ");
        write(out, value, depth);
    }
    out.push('}');
}

/// Returns the Go type name of a value, like `%T`.
pub fn go_type(value: Value<'_>) -> &'static str {
    match value {
        Value::Null => "types.Null",
        Value::Bool(_) => "types.Bool",
        Value::Int(_) => "types.Int",
        Value::Uint(_) => "types.Uint",
        Value::Double(_) => "types.Double",
        Value::String(_) => "types.String",
        Value::Bytes(_) => "types.Bytes",
        Value::Duration(_) => "types.Duration",
        Value::Timestamp(_) => "types.Timestamp",
        Value::Type(_) => "*types.Type",
        Value::List(List::Typed(..)) => "*common.unstructuredList",
        Value::List(List::Merged(merged)) => match merged.schema.schema.list {
            ListKind::Set => "*common.refValSetList",
            _ => "*common.refValMapList",
        },
        Value::List(List::Concat(_)) => "*types.concatList",
        Value::List(List::Growing(list)) if !list.is_frozen() => "*types.mutableList",
        Value::List(_) => "*types.baseList",
        Value::Map(Map::Typed(..)) => "*common.unstructuredMap",
        Value::Map(Map::Growing(map)) if !map.is_frozen() => "*types.mutableMap",
        Value::Map(_) => "*types.baseMap",
        Value::Optional(_) => "*types.Optional",
        Value::Opaque(opaque) => opaque.go_type(),
        Value::Preserved(_) => "*common.unknownPreserved",
        Value::Error(_) => "*types.Err",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_elements_use_go_format() {
        let data = jsontree::json!([{"a": [1, null, "x"], "b": {"c": 1.5}}, null, true]);
        assert_eq!(text(Value::tree(&data)), "[map[a:[1 <nil> x] b:map[c:1.5]], <nil>, true]");
        let map = jsontree::json!({"a": [{"b": 1}], "c": null});
        assert_eq!(text(Value::tree(&map)), "{a: [map[b:1]], c: 0}");
    }
}
