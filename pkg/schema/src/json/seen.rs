//! Which members of a struct a text has named so far, and where the next one belongs in the object.

use jsontree::{Key, Value};

use crate::object::Object;

/// Which members of a struct have been met.
#[derive(Default)]
pub(super) struct SeenMembers {
    /// Those that the text names.
    pub(super) met: Bits,
    /// Those that the object holds, but for `kind` and `apiVersion`.
    held: Bits,
    /// How many those are.
    count: usize,
    /// One more than the last one of them.
    end: usize,
    /// Whether an earlier occurrence of the whole struct left members behind.
    pub(super) inherited: bool,
}

/// How many members a struct may have for [`Seen`] to tell them apart, `kind` and `apiVersion`
/// aside.
pub(super) const MEMBERS_MAX: usize = 254;

impl SeenMembers {
    /// Of a struct into whose object its text is to be decoded.
    pub(super) fn of(object: &Object) -> Self {
        SeenMembers { inherited: !object.is_empty(), ..SeenMembers::default() }
    }

    /// The place of a member in the object, made for it with a value. Where nothing but members of the table stands in the
    /// object, it is known without looking at names.
    #[inline(always)]
    pub(super) fn place<'o>(
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
        // Members of most texts come in some order, so that many of them come after all others.
        let at = if index >= self.end { self.count } else { self.held.below(index) };
        object.insert_at(at, name, value)
    }

    /// Notes that the object has kept the member.
    #[inline]
    pub(super) fn hold(&mut self, index: usize) {
        self.held.set(index);
        self.count += 1;
        self.end = self.end.max(index + 1);
    }

    /// Notes that from here on places are found by name.
    pub(super) fn lose(&mut self) {
        // No object has so many members, and more can be noted without an overflow.
        self.count = usize::MAX / 2;
    }
}

/// A set of indices up to 255; larger ones are in no set.
#[derive(Default)]
pub(super) struct Bits([u64; 4]);

impl Bits {
    /// Puts an index in; true if it was there.
    #[inline]
    pub(super) fn set(&mut self, index: usize) -> bool {
        let Some(word) = self.0.get_mut(index / 64) else { return false };
        let bit = 1 << (index % 64);
        let before = *word & bit != 0;
        *word |= bit;
        before
    }

    /// How many are smaller than this one.
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
    fn members_stand_in_order_whatever_the_order_of_the_text_and_whatever_is_repeated() {
        static NAMES: [Key; 4] =
            [Key::const_new("a"), Key::const_new("b"), Key::const_new("c"), Key::const_new("d")];
        let mut object = Object::new();
        let mut seen = SeenMembers::of(&object);
        for at in [2, 0, 3] {
            assert!(!seen.met.set(at));
            seen.place(&mut object, at, &NAMES[at], || at.into());
            seen.hold(at);
        }
        assert!(seen.met.set(0));
        seen.lose();
        seen.place(&mut object, 1, &NAMES[1], || 1.into());
        assert!(object.keys().eq(&NAMES));
    }

    #[test]
    fn an_index_beyond_the_last_is_in_no_set() {
        let mut bits = Bits::default();
        assert!(!bits.set(256) && !bits.set(256));
        assert!(!bits.set(255) && bits.set(255));
        assert_eq!((bits.below(255), bits.below(256)), (0, 1));
        assert!(!bits.set(3));
        assert_eq!([0, 3, 4, 63, 64, 254].map(|index| bits.below(index)), [0, 0, 1, 1, 1, 1]);
    }
}
