//! Values and access to their parts.

use std::sync::Arc;

use crate::{Key, Number, Object, Text};

/// JSON value.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub enum Value {
    /// `null`, the default and the result of indexing an absent member.
    #[default]
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// Integer or floating-point number of 64 bits.
    Number(Number),
    /// UTF-8 text; up to 24 bytes need no allocation.
    String(Text),
    /// Items in order.
    Array(Vec<Value>),
    /// Members in the order of their names, not in document order.
    Object(Object),
    /// JSON text of an object or list that is nested too deeply for a tree. It is opaque: readers treat it as
    /// a value of unknown type, and encoders copy it. Only the decoder of stored objects creates it.
    Raw(Arc<str>),
}

impl Value {
    /// Returns the text of a [`Value::String`].
    #[inline]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the items of a [`Value::Array`].
    #[inline]
    pub fn as_array(&self) -> Option<&Vec<Value>> {
        match self {
            Value::Array(items) => Some(items),
            _ => None,
        }
    }

    /// Returns the items of a [`Value::Array`], mutably.
    #[inline]
    pub fn as_array_mut(&mut self) -> Option<&mut Vec<Value>> {
        match self {
            Value::Array(items) => Some(items),
            _ => None,
        }
    }

    /// Returns the members of a [`Value::Object`].
    #[inline]
    pub fn as_object(&self) -> Option<&Object> {
        match self {
            Value::Object(object) => Some(object),
            _ => None,
        }
    }

    /// Returns the members of a [`Value::Object`], mutably.
    #[inline]
    pub fn as_object_mut(&mut self) -> Option<&mut Object> {
        match self {
            Value::Object(object) => Some(object),
            _ => None,
        }
    }

    /// Returns the number of a [`Value::Number`]; a text with digits is not a number.
    pub fn as_number(&self) -> Option<&Number> {
        match self {
            Value::Number(number) => Some(number),
            _ => None,
        }
    }

    /// Returns the flag of a [`Value::Bool`].
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Value::Bool(is) => Some(*is),
            _ => None,
        }
    }

    /// Returns the number if it is an integer that fits.
    pub fn as_i64(&self) -> Option<i64> {
        self.as_number()?.as_i64()
    }

    /// Returns the number if it is an integer that fits.
    pub fn as_u64(&self) -> Option<u64> {
        self.as_number()?.as_u64()
    }

    /// Returns the number as a float. A large integer is rounded.
    pub fn as_f64(&self) -> Option<f64> {
        self.as_number()?.as_f64()
    }

    /// True for [`Value::Null`].
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// True for [`Value::Bool`].
    pub fn is_boolean(&self) -> bool {
        matches!(self, Value::Bool(_))
    }

    /// True for [`Value::Number`].
    pub fn is_number(&self) -> bool {
        matches!(self, Value::Number(_))
    }

    /// True for an integer that fits into a signed 64-bit number.
    pub fn is_i64(&self) -> bool {
        self.as_i64().is_some()
    }

    /// True for a number that is stored as a float.
    pub fn is_f64(&self) -> bool {
        self.as_number().is_some_and(Number::is_f64)
    }

    /// True for [`Value::String`].
    pub fn is_string(&self) -> bool {
        matches!(self, Value::String(_))
    }

    /// True for [`Value::Array`].
    pub fn is_array(&self) -> bool {
        matches!(self, Value::Array(_))
    }

    /// True for [`Value::Raw`].
    pub fn is_raw(&self) -> bool {
        matches!(self, Value::Raw(_))
    }

    /// True if a part of the value is [raw](Value::Raw).
    pub fn has_raw(&self) -> bool {
        match self {
            Value::Raw(_) => true,
            Value::Array(items) => items.iter().any(Value::has_raw),
            Value::Object(members) => members.values().any(Value::has_raw),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
        }
    }

    /// True if each [raw](Value::Raw) part of the value is also in `other`, at the same place.
    pub fn has_raw_only_as(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Raw(text), Value::Raw(before)) => text == before,
            (Value::Array(items), _) => {
                items.iter().enumerate().all(|(at, item)| item.has_raw_only_as(&other[at]))
            }
            (Value::Object(members), _) => {
                members.iter().all(|(name, member)| member.has_raw_only_as(&other[name]))
            }
            (value, _) => !value.is_raw(),
        }
    }

    /// True for [`Value::Object`].
    pub fn is_object(&self) -> bool {
        matches!(self, Value::Object(_))
    }

    /// Returns the value and leaves `null` in its place.
    #[must_use]
    pub fn take(&mut self) -> Value {
        std::mem::take(self)
    }

    /// Returns the member with that name, or the item at that index.
    #[inline]
    pub fn get(&self, index: impl Index) -> Option<&Value> {
        index.of(self)
    }

    /// Returns the member with that name, or the item at that index, mutably.
    #[inline]
    pub fn get_mut(&mut self, index: impl Index) -> Option<&mut Value> {
        index.of_mut(self)
    }

    /// Returns the target of a JSON pointer (RFC 6901).
    pub fn pointer(&self, pointer: &str) -> Option<&Value> {
        steps(pointer)?.try_fold(self, |value, step| match value {
            Value::Object(object) => object.get(&step),
            Value::Array(items) => items.get(item(&step)?),
            _ => None,
        })
    }

    /// Returns the target of a JSON pointer (RFC 6901), mutably.
    pub fn pointer_mut(&mut self, pointer: &str) -> Option<&mut Value> {
        steps(pointer)?.try_fold(self, |value, step| match value {
            Value::Object(object) => object.get_mut(&step),
            Value::Array(items) => items.get_mut(item(&step)?),
            _ => None,
        })
    }
}

/// Splits a pointer into its tokens. The empty pointer, which refers to the whole document, has none.
fn steps(pointer: &str) -> Option<impl Iterator<Item = String>> {
    if !pointer.is_empty() && !pointer.starts_with('/') {
        return None;
    }
    Some(pointer.split('/').skip(1).map(|step| step.replace("~1", "/").replace("~0", "~")))
}

/// Parses a pointer token as an array index.
fn item(step: &str) -> Option<usize> {
    let canonical = !step.starts_with('+') && (!step.starts_with('0') || step.len() == 1);
    canonical.then(|| step.parse().ok()).flatten()
}

/// Index into a value: the name of a member, or the position of an item.
pub trait Index {
    /// Returns the target; `None` if it is absent or the value is of another type.
    fn of(self, value: &Value) -> Option<&Value>;
    /// Returns the target, mutably; an absent member is not inserted.
    fn of_mut(self, value: &mut Value) -> Option<&mut Value>;
    /// Returns the target, mutably. An absent member is inserted, and `null` becomes an object first.
    fn or_insert(self, value: &mut Value) -> Option<&mut Value>;
}

impl Index for usize {
    fn of(self, value: &Value) -> Option<&Value> {
        value.as_array()?.get(self)
    }

    fn of_mut(self, value: &mut Value) -> Option<&mut Value> {
        value.as_array_mut()?.get_mut(self)
    }

    fn or_insert(self, value: &mut Value) -> Option<&mut Value> {
        self.of_mut(value)
    }
}

impl Index for &str {
    #[inline]
    fn of(self, value: &Value) -> Option<&Value> {
        value.as_object()?.get(self)
    }

    #[inline]
    fn of_mut(self, value: &mut Value) -> Option<&mut Value> {
        value.as_object_mut()?.get_mut(self)
    }

    fn or_insert(self, value: &mut Value) -> Option<&mut Value> {
        if value.is_null() {
            *value = Value::Object(Object::new());
        }
        Some(value.as_object_mut()?.entry(self).or_insert(Value::Null))
    }
}

/// Implements `Index` for other string types.
macro_rules! by_name {
    ($($name:ty),*) => {$(
        impl Index for $name {
            fn of(self, value: &Value) -> Option<&Value> {
                AsRef::<str>::as_ref(&self).of(value)
            }

            fn of_mut(self, value: &mut Value) -> Option<&mut Value> {
                AsRef::<str>::as_ref(&self).of_mut(value)
            }

            fn or_insert(self, value: &mut Value) -> Option<&mut Value> {
                AsRef::<str>::as_ref(&self).or_insert(value)
            }
        }
    )*};
}

by_name!(String, Key, &String, &Key, &&str, &std::borrow::Cow<'_, str>);

impl<I: Index> std::ops::Index<I> for Value {
    type Output = Value;

    /// Returns the target, or `null` if there is none.
    fn index(&self, index: I) -> &Value {
        index.of(self).unwrap_or(&Value::Null)
    }
}

impl<I: Index> std::ops::IndexMut<I> for Value {
    /// Returns the target. An absent member is inserted.
    ///
    /// # Panics
    /// The value cannot have such a member or has no such item, as with `serde_json`.
    #[allow(clippy::expect_used, reason = "an index has no other way to refuse")]
    fn index_mut(&mut self, index: I) -> &mut Value {
        index.or_insert(self).expect("a value that can have this member or item")
    }
}
