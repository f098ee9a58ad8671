//! Where a value is decoded to.

use jsontree::{Object, Value};

/// The place in the tree where a value is decoded to. Values are made where they stay: to hand one up takes longer than
/// to decode most of them.
pub(super) struct Slot<'s> {
    value: &'s mut Value,
    /// Whether the place holds what an earlier occurrence of the member left, into which Go decodes.
    prior: bool,
}

impl<'s> Slot<'s> {
    /// A place whose value does not matter.
    #[inline]
    pub(super) fn new(value: &'s mut Value) -> Self {
        Slot { value, prior: false }
    }

    /// A place that holds the value of an earlier occurrence.
    pub(super) fn again(value: &'s mut Value) -> Self {
        Slot { value, prior: true }
    }

    /// Puts a value there; true, for there is one now.
    #[inline]
    pub(super) fn put(self, value: Value) -> bool {
        match self.value {
            // Nothing is dropped; where something may be, the new value waits on the stack meanwhile.
            Value::Null => std::mem::forget(std::mem::replace(self.value, value)),
            _ => *self.value = value,
        }
        true
    }

    /// Leaves what was there; whether that was a value.
    #[inline]
    pub(super) fn leave(self) -> bool {
        self.prior
    }

    /// The place, to be written to whatever was there.
    #[inline]
    pub(super) fn into_value(self) -> &'s mut Value {
        self.value
    }

    /// The object that an earlier occurrence left there, or an empty one that is put there. Never `None`.
    #[inline]
    pub(super) fn into_object(self) -> Option<&'s mut Object> {
        if !self.prior || !self.value.is_object() {
            *self.value = Value::Object(Object::new());
        }
        self.value.as_object_mut()
    }

    /// What an earlier occurrence left.
    #[inline]
    pub(super) fn prior(&mut self) -> Option<&mut Value> {
        self.prior.then_some(&mut *self.value)
    }
}
