//! The target of a decoded value.

use jsontree::{Object, Value};

/// The place in the tree that a value is decoded into. Values are created in place, because moving a result
/// up the stack takes longer than decoding most values.
pub(super) struct Slot<'s> {
    value: &'s mut Value,
    /// True if the place contains the value of an earlier occurrence, which Go decodes into.
    prior: bool,
}

impl<'s> Slot<'s> {
    /// A place whose old value is ignored.
    #[inline]
    pub(super) fn new(value: &'s mut Value) -> Self {
        Slot { value, prior: false }
    }

    /// A place with the value of an earlier occurrence.
    pub(super) fn existing(value: &'s mut Value) -> Self {
        Slot { value, prior: true }
    }

    /// Sets the value; returns true because there is a value now.
    #[inline]
    pub(super) fn put(self, value: Value) -> bool {
        match self.value {
            // Nothing needs to be dropped here. Otherwise the new value would first be moved to the stack.
            Value::Null => std::mem::forget(std::mem::replace(self.value, value)),
            _ => *self.value = value,
        }
        true
    }

    /// Keeps the old value; returns true if there is one.
    #[inline]
    pub(super) fn keep_old(self) -> bool {
        self.prior
    }

    /// The place, for writing.
    #[inline]
    pub(super) fn into_value(self) -> &'s mut Value {
        self.value
    }

    /// The object of an earlier occurrence, or a new empty one. Never `None`.
    #[inline]
    pub(super) fn into_object(self) -> Option<&'s mut Object> {
        if !self.prior || !self.value.is_object() {
            *self.value = Value::Object(Object::new());
        }
        self.value.as_object_mut()
    }

    /// The value of an earlier occurrence.
    #[inline]
    pub(super) fn prior(&mut self) -> Option<&mut Value> {
        self.prior.then_some(&mut *self.value)
    }
}
