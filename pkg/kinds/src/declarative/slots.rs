//! A field of a new object beside that of the old one.

use api::semantic::equal_members;
use apimachinery::field::BadValue;
use jsontree::Value;
use schema::json_write;
use schema::object::Object;
use schema::table::{Cardinality, Field, Type};

/// Values of one field.
#[derive(Clone, Copy)]
pub(super) struct Slot<'a> {
    pub(super) field: &'static Field,
    pub(super) new: Option<&'a Value>,
    pub(super) old: Option<&'a Value>,
    /// True if the struct of the field exists in the old object.
    pub(super) correlated: bool,
}

impl<'a> Slot<'a> {
    pub(super) fn of(field: &'static Field, name: &str, new: &'a Object, old: Option<&'a Object>) -> Self {
        Slot { field, new: new.get(name), old: old.and_then(|old| old.get(name)), correlated: old.is_some() }
    }

    /// True if an update leaves the value as it was.
    pub(super) fn is_unchanged(&self) -> bool {
        self.correlated && equal_members(self.field, self.new, self.old)
    }

    /// True if the new object sets the field.
    pub(super) fn is_set(&self) -> bool {
        is_set(self.field, self.new)
    }

    /// True if the old object sets the field.
    pub(super) fn was_set(&self) -> bool {
        is_set(self.field, self.old)
    }

    /// True if the new value is a nil pointer, which checks of values skip.
    pub(super) fn is_nil(&self) -> bool {
        self.field.pointer && self.new.is_none_or(Value::is_null)
    }
}

/// True if the value differs from the zero value of its Go type.
pub(super) fn is_set(field: &Field, value: Option<&Value>) -> bool {
    let Some(value) = value else { return false };
    match value {
        Value::Null => false,
        Value::Array(items) => !items.is_empty(),
        Value::Object(members) if field.cardinality == Cardinality::Map => !members.is_empty(),
        _ if field.pointer => true,
        Value::Bool(flag) => *flag,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Object(_) | Value::Raw(_) => true,
    }
}

/// Items of a list; none if the value is absent.
pub(super) fn items(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Text of a value; empty if it is absent.
pub(super) fn text(value: Option<&Value>) -> &str {
    value.and_then(Value::as_str).unwrap_or_default()
}

/// Number of a value; zero if it is absent.
pub(super) fn integer(value: Option<&Value>) -> i64 {
    value.and_then(Value::as_i64).unwrap_or_default()
}

/// Returns a text of a field as errors show it. Upstream prints texts of named Go types as JSON.
pub(super) fn shown_text(field: &Field, text: &str) -> BadValue {
    if field.info.go_type.is_empty() { BadValue::from(text) } else { BadValue::json_text(text) }
}

/// Returns an item of a list as errors show it: structs as the JSON that clients read.
pub(super) fn shown_item(field: &'static Field, item: &Value) -> BadValue {
    match (field.ty, item) {
        (Type::Message(message), Value::Object(object)) => {
            let mut json = Vec::new();
            let written = json_write::encode(message, object, &mut json);
            let text = written.ok().and_then(|()| String::from_utf8(json).ok());
            text.map_or(BadValue::Omitted, BadValue::Plain)
        }
        (_, Value::String(text)) => shown_text(field, text),
        (_, other) => other.into(),
    }
}
