//! Paths in errors, and the names of Go types.
//!
//! Strict errors and Go's type errors spell the same path differently: the former with list indices and map
//! keys, the latter with the names of embedded structs.

use std::borrow::Cow;

use crate::table::{Cardinality, Field, Message, Type};

/// A step on the path to the current value.
pub(super) enum Step<'a> {
    Field(&'static Message, &'static str),
    Key(Cow<'a, str>),
    Index(usize),
}

/// Position of a value: the value of a field, or an item of its list or map.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum ValuePosition {
    Field,
    Item,
}

/// The index and name of a `TypeMeta` member, if the type has it.
pub(crate) fn type_meta_member(message: &Message, name: &str) -> Option<(usize, &'static str)> {
    match name {
        "kind" if message.type_meta => Some((0, "kind")),
        "apiVersion" if message.type_meta => Some((1, "apiVersion")),
        _ => None,
    }
}

/// The name of a JSON value in errors, by its first byte.
pub(crate) fn kind_of(start: u8) -> &'static str {
    match start {
        b'{' => "object",
        b'[' => "array",
        b'"' => "string",
        b't' | b'f' => "bool",
        b'n' => "null",
        _ => "number",
    }
}

/// The Go type of a field or of its items, as in errors.
pub(crate) fn go_type(field: &'static Field, position: ValuePosition) -> Cow<'static, str> {
    let named = field.info.go_type;
    let item = named.split_once(']').map(|(_list_or_map, item)| item);
    match (position, item) {
        (ValuePosition::Field, _) if !named.is_empty() => return named.into(),
        (ValuePosition::Item, Some(item)) => return item.into(),
        _ => {}
    }
    let element = match field.ty {
        Type::String => "string",
        Type::Bytes => "[]uint8",
        Type::Bool => "bool",
        Type::Int32 => "int32",
        Type::Int64 => "int64",
        Type::Double => "float64",
        Type::Any => "interface {}",
        Type::Message(message) => message.go_name,
    };
    match (position, field.cardinality) {
        (ValuePosition::Item, _) | (_, Cardinality::One) => element.into(),
        (_, Cardinality::List) => format!("[]{element}").into(),
        (_, Cardinality::Map) => format!("map[string]{element}").into(),
    }
}

pub(super) fn bare_name(message: &Message) -> &'static str {
    message.go_name.rsplit_once('.').map_or(message.go_name, |(_, name)| name)
}

pub(super) fn push_key(path: &mut String, key: &str) {
    if !path.is_empty() {
        path.push('.');
    }
    path.push_str(key);
}

/// Appends a member to a path in Go's errors, which include the embedded structs.
pub(super) fn push_go_path(path: &mut String, message: &Message, member: &str) {
    if type_meta_member(message, member).is_some() && message.member(member).is_none() {
        push_key(path, "TypeMeta");
    } else if let Some(field) = message.member(member) {
        push_embedded(path, message, field);
    }
    push_key(path, member);
}

fn push_embedded(path: &mut String, message: &Message, target: &Field) -> bool {
    if message.fields.iter().any(|field| std::ptr::eq(field, target)) {
        return true;
    }
    message.fields.iter().filter(|field| field.inlined()).any(|field| {
        let Type::Message(embedded) = field.ty else { return false };
        let begin = path.len();
        push_key(path, bare_name(embedded));
        let is_found = push_embedded(path, embedded, target);
        if !is_found {
            path.truncate(begin);
        }
        is_found
    })
}
