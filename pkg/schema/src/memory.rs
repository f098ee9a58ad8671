//! Memory budget for the tree of a request body: a few bytes of text can become a node of several hundred
//! bytes.

use jsontree::{Key, Value};

/// Maximum bytes of tree per byte of body, besides [`ALLOWANCE_BYTES`]. A request temporarily has two trees
/// of its object. Realistic objects take less than 8 times their text.
pub const BYTES_PER_BYTE: usize = 10;
/// Minimum budget of any body in bytes.
pub const ALLOWANCE_BYTES: usize = 16 * 1024 * 1024;
/// Maximum budget of a long body in bytes, unless [`BYTES_PER_BYTE`] times the body is more. Storage accepts
/// objects of up to 1.5 MB, and their trees take half of this.
pub const LONG_BYTES: usize = 28 * 1024 * 1024;

/// Size of a member in the vector of its object: name and value.
const MEMBER_BYTES: usize = size_of::<Key>() + size_of::<Value>();
/// Capacity of a map's first allocation.
const FIRST_MEMBERS: usize = 4;
/// From this number of members on, an object is a B-tree.
const MANY_MEMBERS: usize = 64;
/// Size of a further member in a B-tree: nodes have a capacity of eleven and are at least half full.
const MANY_MEMBER_BYTES: usize = MEMBER_BYTES * 2;
/// Capacity of a struct that defaults may fill; most structs have no more members.
pub(crate) const STRUCT_MEMBERS: usize = 2 * FIRST_MEMBERS;
/// Size of such a struct.
const STRUCT_BYTES: usize = STRUCT_MEMBERS * MEMBER_BYTES;
/// Minimum size of the texts of a member's name and value, each in its own allocation.
const TEXTS_BYTES: usize = 32;
/// Size of an item in a list that doubles its capacity.
const ITEM_BYTES: usize = size_of::<Value>() * 3 / 2;

/// The budget is exhausted: the tree would take more memory than its body allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("decoded, and with its defaults, it takes more memory than a body of its size may")]
pub struct BudgetExceeded;

/// The remaining memory budget of a tree under construction. Strings are not counted because they are not
/// longer than the body.
#[derive(Debug, Clone, Copy)]
pub struct DecodeBudget {
    bytes: usize,
}

impl DecodeBudget {
    /// No limit, for data that does not come from a request.
    pub const UNLIMITED: DecodeBudget = DecodeBudget { bytes: usize::MAX };

    /// The budget for a body of this many bytes.
    pub fn of_body(bytes: usize) -> Self {
        let grown = bytes.saturating_mul(BYTES_PER_BYTE);
        DecodeBudget { bytes: grown.saturating_add(ALLOWANCE_BYTES).min(LONG_BYTES.max(grown)) }
    }

    /// Charges a struct, or an empty object that defaults may fill.
    pub(crate) fn structure(&mut self) -> Result<(), BudgetExceeded> {
        self.charge(STRUCT_BYTES)
    }

    /// Charges one more entry of a map with `before` entries; its vector doubles when it is full.
    pub(crate) fn entry(&mut self, count: usize) -> Result<(), BudgetExceeded> {
        let grown = match count {
            0 => FIRST_MEMBERS * MEMBER_BYTES,
            MANY_MEMBERS.. => MANY_MEMBER_BYTES,
            _ if count >= FIRST_MEMBERS && count.is_power_of_two() => count * MEMBER_BYTES,
            _ => 0,
        };
        self.charge(grown + TEXTS_BYTES)
    }

    /// Charges `count` items of a list.
    pub(crate) fn items(&mut self, count: usize) -> Result<(), BudgetExceeded> {
        self.charge(count.saturating_mul(ITEM_BYTES))
    }

    /// The budget for defaults that are added to an object. Storage would reject an object that exceeds it.
    pub fn of_defaults() -> Self {
        DecodeBudget { bytes: LONG_BYTES }
    }

    /// Charges the copy of a value as a member of an object, including its strings.
    ///
    /// # Errors
    /// The budget is exhausted.
    pub fn copy(&mut self, value: &Value) -> Result<(), BudgetExceeded> {
        self.charge(MANY_MEMBER_BYTES + TEXTS_BYTES)?;
        match value {
            Value::String(text) => self.charge(text.len()),
            Value::Array(items) => items.iter().try_for_each(|item| self.copy(item)),
            Value::Object(members) => members.iter().try_for_each(|(name, value)| {
                self.charge(name.len())?;
                self.copy(value)
            }),
            Value::Raw(text) => self.charge(text.len()),
            Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
        }
    }

    /// Remaining bytes.
    pub(crate) fn remaining(&self) -> usize {
        self.bytes
    }

    #[inline]
    pub(crate) fn charge(&mut self, bytes: usize) -> Result<(), BudgetExceeded> {
        self.bytes = self.bytes.checked_sub(bytes).ok_or(BudgetExceeded)?;
        Ok(())
    }
}

/// Number of items from which a list is long.
const LONG_ITEMS: usize = 4096;

/// Completes a list: shrinks a long list to its length, because it stays allocated while the rest of the tree
/// is built. Shrinking shorter lists is not worth the copy.
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
