//! How much memory the tree of a body may take: an object of a few bytes can be a node of some hundred.

use jsontree::{Key, Value};

/// How many bytes of tree a byte of body may become, besides [`ALLOWANCE_BYTES`]. A request has its object as a tree
/// twice for a while; objects that people write take less than 8 times their text.
pub const BYTES_PER_BYTE: usize = 10;
/// What the tree of any body may take, in bytes.
pub const ALLOWANCE_BYTES: usize = 16 * 1024 * 1024;
/// What the tree of a long body may take, in bytes, if that is more than so many times the body. An object that storage
/// takes has 1.5 MB, and a tree of half of this.
pub const LONG_BYTES: usize = 28 * 1024 * 1024;

/// What a member takes in the vector of its object: the name and the value in place.
const MEMBER_BYTES: usize = size_of::<Key>() + size_of::<Value>();
/// How many members a map has room for when the first one is put in.
const FIRST_MEMBERS: usize = 4;
/// From so many members on, an object is a B-tree.
const MANY_MEMBERS: usize = 64;
/// What a further member takes there: nodes have room for eleven and are half full at least.
const MANY_MEMBER_BYTES: usize = MEMBER_BYTES * 2;
/// How many members a struct has room for that defaults fill; most have no more.
pub(crate) const STRUCT_MEMBERS: usize = 2 * FIRST_MEMBERS;
/// What such a struct takes.
const STRUCT_BYTES: usize = STRUCT_MEMBERS * MEMBER_BYTES;
/// What the text of a member's name and that of its value take at least, each in an allocation of its own.
const TEXTS_BYTES: usize = 32;
/// What an item takes in a list that doubles while it grows.
const ITEM_BYTES: usize = size_of::<Value>() * 3 / 2;

/// There is no room left: the tree would take more memory than its body may ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("decoded, and with its defaults, it takes more memory than a body of its size may")]
pub struct BudgetExceeded;

/// The memory that is left to a tree that is being made. Texts of a body are not counted, for they are no longer than
/// that.
#[derive(Debug, Clone, Copy)]
pub struct DecodeBudget {
    bytes: usize,
}

impl DecodeBudget {
    /// As much as it takes, for what does not come from a request.
    pub const UNLIMITED: DecodeBudget = DecodeBudget { bytes: usize::MAX };

    /// What a body of so many bytes may ask for.
    pub fn of_body(bytes: usize) -> Self {
        let grown = bytes.saturating_mul(BYTES_PER_BYTE);
        DecodeBudget { bytes: grown.saturating_add(ALLOWANCE_BYTES).min(LONG_BYTES.max(grown)) }
    }

    /// Takes the room of a struct, or of an empty object that can become one: defaults fill it.
    pub(crate) fn structure(&mut self) -> Result<(), BudgetExceeded> {
        self.take(STRUCT_BYTES)
    }

    /// Takes the room of one more entry of a map that has `before` of them; its vector doubles when it is full.
    pub(crate) fn entry(&mut self, before: usize) -> Result<(), BudgetExceeded> {
        let grown = match before {
            0 => FIRST_MEMBERS * MEMBER_BYTES,
            MANY_MEMBERS.. => MANY_MEMBER_BYTES,
            _ if before >= FIRST_MEMBERS && before.is_power_of_two() => before * MEMBER_BYTES,
            _ => 0,
        };
        self.take(grown + TEXTS_BYTES)
    }

    /// Takes the room of `count` items of a list.
    pub(crate) fn items(&mut self, count: usize) -> Result<(), BudgetExceeded> {
        self.take(count.saturating_mul(ITEM_BYTES))
    }

    /// What defaults may add to an object. Of more than an object may have altogether, storage takes none.
    pub fn of_defaults() -> Self {
        DecodeBudget { bytes: LONG_BYTES }
    }

    /// Takes the room of a copy of a value, its texts included, as a member of an object.
    ///
    /// # Errors
    /// There is no such room.
    pub fn copy(&mut self, value: &Value) -> Result<(), BudgetExceeded> {
        self.take(MANY_MEMBER_BYTES + TEXTS_BYTES)?;
        match value {
            Value::String(text) => self.take(text.len()),
            Value::Array(items) => items.iter().try_for_each(|item| self.copy(item)),
            Value::Object(members) => members.iter().try_for_each(|(name, value)| {
                self.take(name.len())?;
                self.copy(value)
            }),
            Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
        }
    }

    /// How many bytes are left.
    pub(crate) fn left(&self) -> usize {
        self.bytes
    }

    /// Takes so many bytes.
    #[inline]
    pub(crate) fn take(&mut self, bytes: usize) -> Result<(), BudgetExceeded> {
        self.bytes = self.bytes.checked_sub(bytes).ok_or(BudgetExceeded)?;
        Ok(())
    }
}

/// From so many items on a list is long.
const LONG_ITEMS: usize = 4096;

/// A list that is complete: a long one gives back the room that it grew too much, for it is there while all else is made
/// of it. Shorter ones are not worth moving.
pub(crate) fn complete(mut items: Vec<Value>) -> Value {
    if items.len() >= LONG_ITEMS {
        items.shrink_to_fit();
    }
    Value::Array(items)
}

impl Default for DecodeBudget {
    fn default() -> Self {
        DecodeBudget::UNLIMITED
    }
}

#[cfg(test)]
mod tests;
