//! Conversions into values, and comparisons with primitive types.

use std::borrow::Cow;

use crate::{Key, Number, Object, Value};

macro_rules! from_whole {
    ($($whole:ty),*) => {$(
        impl From<$whole> for Value {
            #[inline]
            fn from(whole: $whole) -> Self {
                Value::Number(whole.into())
            }
        }

        impl PartialEq<$whole> for Value {
            fn eq(&self, other: &$whole) -> bool {
                self.as_number().is_some_and(|number| *number == Number::from(*other))
            }
        }

        impl PartialEq<$whole> for &Value {
            fn eq(&self, other: &$whole) -> bool {
                **self == *other
            }
        }
    )*};
}

from_whole!(i8, i16, i32, i64, isize, u8, u16, u32, u64, usize);

macro_rules! equals {
    ($($text:ty, $as:ident, |$this:ident| $part:expr;)*) => {$(
        impl PartialEq<$text> for Value {
            fn eq(&self, other: &$text) -> bool {
                let $this = other;
                self.$as() == Some($part)
            }
        }

        impl PartialEq<Value> for $text {
            fn eq(&self, other: &Value) -> bool {
                other == self
            }
        }
    )*};
}

equals! {
    str, as_str, |text| text;
    &str, as_str, |text| *text;
    String, as_str, |text| text.as_str();
    bool, as_bool, |is| *is;
    f64, as_f64, |number| *number;
}

impl PartialEq<str> for &Value {
    fn eq(&self, other: &str) -> bool {
        **self == *other
    }
}

impl PartialEq<bool> for &Value {
    fn eq(&self, other: &bool) -> bool {
        **self == *other
    }
}

impl From<f64> for Value {
    /// `null` for NaN and infinities, which JSON cannot represent.
    fn from(number: f64) -> Self {
        Number::from_f64(number).map_or(Value::Null, Value::Number)
    }
}

impl From<bool> for Value {
    #[inline]
    fn from(is: bool) -> Self {
        Value::Bool(is)
    }
}

impl From<Number> for Value {
    #[inline]
    fn from(number: Number) -> Self {
        Value::Number(number)
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Value::String(text.into())
    }
}

impl From<&str> for Value {
    #[inline]
    fn from(text: &str) -> Self {
        Value::String(text.into())
    }
}

impl From<&String> for Value {
    fn from(text: &String) -> Self {
        text.as_str().into()
    }
}

impl From<Cow<'_, str>> for Value {
    fn from(text: Cow<'_, str>) -> Self {
        Value::String(text.into())
    }
}

impl From<Key> for Value {
    #[inline]
    fn from(text: Key) -> Self {
        Value::String(text)
    }
}

impl From<&Key> for Value {
    fn from(text: &Key) -> Self {
        Value::String(text.clone())
    }
}

impl From<Object> for Value {
    fn from(object: Object) -> Self {
        Value::Object(object)
    }
}

impl<T: Into<Value>> From<Vec<T>> for Value {
    fn from(items: Vec<T>) -> Self {
        items.into_iter().collect()
    }
}

impl<T: Clone + Into<Value>> From<&[T]> for Value {
    fn from(items: &[T]) -> Self {
        items.iter().cloned().collect()
    }
}

impl<T: Into<Value>, const N: usize> From<[T; N]> for Value {
    fn from(items: [T; N]) -> Self {
        items.into_iter().collect()
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Value::Null, Into::into)
    }
}

impl<T: Into<Value>> FromIterator<T> for Value {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Value::Array(items.into_iter().map(Into::into).collect())
    }
}

impl<K: Into<Key>, V: Into<Value>> FromIterator<(K, V)> for Value {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(members: I) -> Self {
        Value::Object(members.into_iter().map(|(name, value)| (name, value.into())).collect())
    }
}

impl From<serde_json::Value> for Value {
    fn from(value: serde_json::Value) -> Self {
        match value {
            serde_json::Value::Null => Value::Null,
            serde_json::Value::Bool(is) => Value::Bool(is),
            serde_json::Value::Number(number) => Value::Number(number),
            serde_json::Value::String(text) => Value::from(text),
            serde_json::Value::Array(items) => items.into_iter().collect(),
            serde_json::Value::Object(members) => members.into_iter().collect(),
        }
    }
}

impl From<Value> for serde_json::Value {
    fn from(value: Value) -> Self {
        match value {
            Value::Null => serde_json::Value::Null,
            Value::Bool(is) => serde_json::Value::Bool(is),
            Value::Number(number) => serde_json::Value::Number(number),
            Value::String(text) => serde_json::Value::String(text.into_string()),
            Value::Array(items) => items.into_iter().map(serde_json::Value::from).collect(),
            Value::Object(members) => members
                .into_iter()
                .map(|(name, value)| (String::from(name), serde_json::Value::from(value)))
                .collect(),
            // As the serializer.
            Value::Raw(text) => serde_json::Value::String(text.as_ref().to_owned()),
        }
    }
}
