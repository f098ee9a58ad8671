//! Which members of a struct a text has named so far, and where the next one belongs in the object.

use jsontree::{Key, Value};

use crate::object::Object;

/// Which members of a struct have been met.
#[derive(Default)]
pub(super) struct Seen {
    /// Those that the text names.
    pub(super) met: Bits,
    /// Those that the object holds, but for `kind` and `apiVersion`.
    pub(super) held: Bits,
    /// Whether an earlier occurrence of the whole struct left members behind.
    pub(super) inherited: bool,
}

/// How many members a struct may have for [`Seen`] to tell them apart, `kind` and `apiVersion`
/// aside.
pub(super) const MEMBERS_MAX: usize = 254;

impl Seen {
    /// Puts a member into the object. Where nothing but members of the table stands in it, its place is known.
    #[inline]
    pub(super) fn put(&mut self, object: &mut Object, index: usize, name: &'static Key, value: Value) {
        let name = name.clone();
        if object.len() == self.held.below(MEMBERS_MAX) {
            object.insert_at(self.held.below(index), name, value);
        } else {
            object.insert(name, value);
        }
        self.held.set(index);
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

    /// Takes an index out.
    #[inline]
    pub(super) fn clear(&mut self, index: usize) {
        if let Some(word) = self.0.get_mut(index / 64) {
            *word &= !(1 << (index % 64));
        }
    }

    /// How many are smaller than this one.
    #[inline]
    fn below(&self, index: usize) -> usize {
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
        let mut seen = Seen::default();
        let mut object = Object::new();
        for at in [2, 0, 3] {
            assert!(!seen.met.set(at));
            seen.put(&mut object, at, &NAMES[at], at.into());
        }
        assert!(seen.met.set(0));
        object.remove("a");
        seen.held.clear(0);
        seen.put(&mut object, 1, &NAMES[1], 1.into());
        seen.put(&mut object, 0, &NAMES[0], 0.into());
        assert!(object.keys().eq(&NAMES));
    }

    #[test]
    fn an_index_beyond_the_last_is_in_no_set() {
        let mut bits = Bits::default();
        assert!(!bits.set(256) && !bits.set(256));
        assert!(!bits.set(255) && bits.set(255));
        assert_eq!((bits.below(255), bits.below(256)), (0, 1));
    }
}
