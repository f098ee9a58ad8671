//! The members of a struct seen so far, and the position of the next one in the object.

use jsontree::{Key, Value};

use crate::object::Object;

/// The members of a struct seen so far.
#[derive(Default)]
pub(super) struct SeenMembers {
    /// Members in the text.
    pub(super) seen: Bits,
    /// Members in the object, without `kind` and `apiVersion`.
    inserted: Bits,
    /// Number of members in `held`.
    count: usize,
    /// One more than the last member in `held`.
    end: usize,
    /// True if an earlier occurrence of the struct has left members in the object.
    pub(super) inherited: bool,
}

/// Maximum number of a struct's members, without `kind` and `apiVersion`.
pub(super) const MEMBERS_MAX: usize = 254;

impl SeenMembers {
    /// The initial state for decoding into an object.
    pub(super) fn of(object: &Object) -> Self {
        SeenMembers { inherited: !object.is_empty(), ..SeenMembers::default() }
    }

    /// Inserts a member with a value at its position. If the object contains only known members, the position
    /// is computed without comparing names.
    #[inline(always)]
    pub(super) fn insert<'o>(
        &self,
        object: &'o mut Object,
        index: usize,
        name: &'static Key,
        value: impl FnOnce() -> Value,
    ) -> &'o mut Value {
        if object.len() != self.count {
            let slot = object.slot(name.clone()).0;
            *slot = value();
            return slot;
        }
        // Members usually come in some order, so that many are appended at the end.
        let at = if index >= self.end { self.count } else { self.inserted.below(index) };
        object.insert_at(at, name, value)
    }

    /// Records that the object contains the member.
    #[inline]
    pub(super) fn record(&mut self, index: usize) {
        self.inserted.set(index);
        self.count += 1;
        self.end = self.end.max(index + 1);
    }

    /// Records that positions must be found by name from now on.
    pub(super) fn invalidate(&mut self) {
        // Larger than any object's number of members, and can be incremented without an overflow.
        self.count = usize::MAX / 2;
    }
}

/// A set of indices up to 255; larger ones are never contained.
#[derive(Default)]
pub(super) struct Bits([u64; 4]);

impl Bits {
    /// Inserts an index; returns true if it was contained.
    #[inline]
    pub(super) fn set(&mut self, index: usize) -> bool {
        let Some(word) = self.0.get_mut(index / 64) else { return false };
        let bit = 1 << (index % 64);
        let was_set = *word & bit != 0;
        *word |= bit;
        was_set
    }

    /// Number of contained indices below this one.
    #[inline]
    fn below(&self, index: usize) -> usize {
        match self.0 {
            // Few types have more members.
            [first, ..] if index < 64 => (first & ((1 << index) - 1)).count_ones() as usize,
            _ => self.below_any(index),
        }
    }

    fn below_any(&self, index: usize) -> usize {
        let whole: u32 = self.0.iter().take(index / 64).map(|word| word.count_ones()).sum();
        let part = self.0.get(index / 64).map_or(0, |word| word & ((1 << (index % 64)) - 1));
        (whole + part.count_ones()) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_sorted_despite_order_and_duplicates() {
        static NAMES: [Key; 4] =
            [Key::const_new("a"), Key::const_new("b"), Key::const_new("c"), Key::const_new("d")];
        let mut object = Object::new();
        let mut seen = SeenMembers::of(&object);
        for at in [2, 0, 3] {
            assert!(!seen.seen.set(at));
            seen.insert(&mut object, at, &NAMES[at], || at.into());
            seen.record(at);
        }
        assert!(seen.seen.set(0));
        seen.invalidate();
        seen.insert(&mut object, 1, &NAMES[1], || 1.into());
        assert!(object.keys().eq(&NAMES));
    }

    #[test]
    fn large_indices_are_never_contained() {
        let mut bits = Bits::default();
        assert!(!bits.set(256) && !bits.set(256));
        assert!(!bits.set(255) && bits.set(255));
        assert_eq!((bits.below(255), bits.below(256)), (0, 1));
        assert!(!bits.set(3));
        assert_eq!([0, 3, 4, 63, 64, 254].map(|index| bits.below(index)), [0, 0, 1, 1, 1, 1]);
    }
}
