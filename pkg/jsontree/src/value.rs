//! Values and the ways to look into them.

use crate::{Key, Number, Object, Text};

/// Any JSON value.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub enum Value {
    /// `null`.
    #[default]
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number.
    Number(Number),
    /// A text.
    String(Text),
    /// A list.
    Array(Vec<Value>),
    /// An object.
    Object(Object),
}

impl Value {
    /// The text, if it is one.
    #[inline]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// The list, if it is one.
    #[inline]
    pub fn as_array(&self) -> Option<&Vec<Value>> {
        match self {
            Value::Array(items) => Some(items),
            _ => None,
        }
    }

    /// The list, if it is one, to be changed.
    #[inline]
    pub fn as_array_mut(&mut self) -> Option<&mut Vec<Value>> {
        match self {
            Value::Array(items) => Some(items),
            _ => None,
        }
    }

    /// The object, if it is one.
    #[inline]
    pub fn as_object(&self) -> Option<&Object> {
        match self {
            Value::Object(object) => Some(object),
            _ => None,
        }
    }

    /// The object, if it is one, to be changed.
    #[inline]
    pub fn as_object_mut(&mut self) -> Option<&mut Object> {
        match self {
            Value::Object(object) => Some(object),
            _ => None,
        }
    }

    /// The number, if it is one.
    pub fn as_number(&self) -> Option<&Number> {
        match self {
            Value::Number(number) => Some(number),
            _ => None,
        }
    }

    /// The boolean, if it is one.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Value::Bool(is) => Some(*is),
            _ => None,
        }
    }

    /// The number, if it is a whole one that fits.
    pub fn as_i64(&self) -> Option<i64> {
        self.as_number()?.as_i64()
    }

    /// The number, if it is a whole one that fits.
    pub fn as_u64(&self) -> Option<u64> {
        self.as_number()?.as_u64()
    }

    /// The number, if it is one.
    pub fn as_f64(&self) -> Option<f64> {
        self.as_number()?.as_f64()
    }

    /// Whether it is `null`.
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// Whether it is `true` or `false`.
    pub fn is_boolean(&self) -> bool {
        matches!(self, Value::Bool(_))
    }

    /// Whether it is a number.
    pub fn is_number(&self) -> bool {
        matches!(self, Value::Number(_))
    }

    /// Whether it is a whole number that fits into 64 bits with a sign.
    pub fn is_i64(&self) -> bool {
        self.as_i64().is_some()
    }

    /// Whether it is a number that is kept as a floating-point one.
    pub fn is_f64(&self) -> bool {
        self.as_number().is_some_and(Number::is_f64)
    }

    /// Whether it is a text.
    pub fn is_string(&self) -> bool {
        matches!(self, Value::String(_))
    }

    /// Whether it is a list.
    pub fn is_array(&self) -> bool {
        matches!(self, Value::Array(_))
    }

    /// Whether it is an object.
    pub fn is_object(&self) -> bool {
        matches!(self, Value::Object(_))
    }

    /// The value, with `null` left in its place.
    #[must_use]
    pub fn take(&mut self) -> Value {
        std::mem::take(self)
    }

    /// The member of that name, or the item of that index.
    #[inline]
    pub fn get(&self, index: impl Index) -> Option<&Value> {
        index.of(self)
    }

    /// The member of that name, or the item of that index, to be changed.
    #[inline]
    pub fn get_mut(&mut self, index: impl Index) -> Option<&mut Value> {
        index.of_mut(self)
    }

    /// What a JSON pointer (RFC 6901) points at.
    pub fn pointer(&self, pointer: &str) -> Option<&Value> {
        steps(pointer)?.try_fold(self, |value, step| match value {
            Value::Object(object) => object.get(&step),
            Value::Array(items) => items.get(item(&step)?),
            _ => None,
        })
    }

    /// What a JSON pointer (RFC 6901) points at, to be changed.
    pub fn pointer_mut(&mut self, pointer: &str) -> Option<&mut Value> {
        steps(pointer)?.try_fold(self, |value, step| match value {
            Value::Object(object) => object.get_mut(&step),
            Value::Array(items) => items.get_mut(item(&step)?),
            _ => None,
        })
    }
}

/// The steps of a pointer; none for the empty one, which points at the whole.
fn steps(pointer: &str) -> Option<impl Iterator<Item = String>> {
    if !pointer.is_empty() && !pointer.starts_with('/') {
        return None;
    }
    Some(pointer.split('/').skip(1).map(|step| step.replace("~1", "/").replace("~0", "~")))
}

/// The index that a step of a pointer stands for.
fn item(step: &str) -> Option<usize> {
    let canonical = !step.starts_with('+') && (!step.starts_with('0') || step.len() == 1);
    canonical.then(|| step.parse().ok()).flatten()
}

/// What values are indexed with: the name of a member, or the place of an item.
pub trait Index {
    /// What is there.
    fn of(self, value: &Value) -> Option<&Value>;
    /// What is there, to be changed.
    fn of_mut(self, value: &mut Value) -> Option<&mut Value>;
    /// What is there, to be changed; a member that is not there is made, in an object made of `null` if need be.
    fn or_make(self, value: &mut Value) -> Option<&mut Value>;
}

impl Index for usize {
    fn of(self, value: &Value) -> Option<&Value> {
        value.as_array()?.get(self)
    }

    fn of_mut(self, value: &mut Value) -> Option<&mut Value> {
        value.as_array_mut()?.get_mut(self)
    }

    fn or_make(self, value: &mut Value) -> Option<&mut Value> {
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

    fn or_make(self, value: &mut Value) -> Option<&mut Value> {
        if value.is_null() {
            *value = Value::Object(Object::new());
        }
        Some(value.as_object_mut()?.entry(self).or_insert(Value::Null))
    }
}

/// Names in other forms.
macro_rules! by_name {
    ($($name:ty),*) => {$(
        impl Index for $name {
            fn of(self, value: &Value) -> Option<&Value> {
                AsRef::<str>::as_ref(&self).of(value)
            }

            fn of_mut(self, value: &mut Value) -> Option<&mut Value> {
                AsRef::<str>::as_ref(&self).of_mut(value)
            }

            fn or_make(self, value: &mut Value) -> Option<&mut Value> {
                AsRef::<str>::as_ref(&self).or_make(value)
            }
        }
    )*};
}

by_name!(String, Key, &String, &Key, &&str, &std::borrow::Cow<'_, str>);

impl<I: Index> std::ops::Index<I> for Value {
    type Output = Value;

    /// What is there; `null` if nothing is.
    fn index(&self, index: I) -> &Value {
        index.of(self).unwrap_or(&Value::Null)
    }
}

impl<I: Index> std::ops::IndexMut<I> for Value {
    /// What is there; a member that is not there is made.
    ///
    /// # Panics
    /// If the value can have no such member or has no such item, as `serde_json`'s does.
    #[allow(clippy::expect_used, reason = "an index has no other way to refuse")]
    fn index_mut(&mut self, index: I) -> &mut Value {
        index.or_make(self).expect("a value that can have this member or item")
    }
}
