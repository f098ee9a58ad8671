//! Where a name is among those of a type: one multiplication and one comparison, without a collision, for the
//! multiplier was chosen for these names when the tables were made.

use std::ops::Range;

/// Which member a name can be.
#[derive(Debug)]
pub struct Names {
    /// Spreads the names over the slots.
    pub multiplier: u64,
    /// How far the product is shifted: 64 less the logarithm of the number of slots.
    pub shift: u32,
    /// The index of the member whose name leads here; [`NO_MEMBER`] where none does.
    pub slots: &'static [u8],
}

/// Stands in a slot to which no name leads.
pub const NO_MEMBER: u8 = u8::MAX;

impl Names {
    /// The index of the only member that can have this name.
    #[inline]
    pub fn find(&self, name: Word) -> usize {
        let slot = slot(name, self.multiplier, self.shift);
        usize::from(self.slots.get(slot).copied().unwrap_or(NO_MEMBER))
    }
}

/// A name as numbers: all that there is to compare of one of up to 16 bytes, without a branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Word {
    /// The first eight bytes; zeros follow a shorter name.
    first: u64,
    /// The last eight bytes; those of a shorter name as above.
    last: u64,
    len: usize,
}

impl Word {
    /// Of a name in a table, when that is made.
    pub const fn of(name: &[u8]) -> Self {
        let mut both = [[0; 8]; 2];
        let tail = name.len().saturating_sub(8);
        let mut at = 0;
        while at < name.len() {
            if at < 8 {
                both[0][at] = name[at];
            }
            if at >= tail {
                both[1][at - tail] = name[at];
            }
            at += 1;
        }
        Word { first: u64::from_le_bytes(both[0]), last: u64::from_le_bytes(both[1]), len: name.len() }
    }

    /// Of a name that stands alone.
    #[inline]
    pub fn alone(name: &[u8]) -> Self {
        Word::within(name, 0..name.len())
    }

    /// Of a name that stands in a text, which is read beyond a short name.
    #[inline(always)]
    pub fn within(text: &[u8], name: Range<usize>) -> Self {
        let Range { start, end } = name;
        let len = end.saturating_sub(start);
        let eight = |at: usize| text.get(at..)?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
        match (eight(start), eight(end.max(start + 8) - 8)) {
            (Some(first), Some(last)) => {
                let mask = u64::MAX.unbounded_shr(64 - 8 * len.min(8) as u32);
                Word { first: first & mask, last: last & mask, len }
            }
            _ => Word::of(text.get(start..end).unwrap_or_default()),
        }
    }

    /// Whether names with the same word are the same.
    #[inline]
    pub fn is_all(self) -> bool {
        self.len <= 16
    }
}

/// The slot to which a name leads. Names of the same length that begin and end alike lead to the same one.
#[inline]
pub(super) fn slot(name: Word, multiplier: u64, shift: u32) -> usize {
    let len = (name.len as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let digest = (name.first ^ name.last.rotate_left(31)).wrapping_add(len);
    (digest.wrapping_mul(multiplier) >> shift) as usize
}

#[cfg(test)]
mod tests {
    use super::Word;
    use crate::builtin;

    #[test]
    fn every_member_is_found_by_its_name_and_no_other_name_finds_it() {
        for message in builtin::ALL {
            for (at, member) in message.members.iter().enumerate() {
                assert_eq!(
                    message
                        .find_member(member.name.as_bytes(), Word::of(member.name.as_bytes()))
                        .map(|(found, _)| found),
                    Some(at)
                );
            }
            for name in ["", "x", "metadatA", "\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}"] {
                assert!(
                    message.find_member(name.as_bytes(), Word::of(name.as_bytes())).is_none(),
                    "{} has no {name:?}",
                    message.name
                );
            }
        }
    }

    #[test]
    fn a_name_has_the_same_word_wherever_it_stands() {
        let text = b"\"abcdefghijklmnopqrstuvwxyz\":1";
        for start in 1..text.len() {
            for end in start..=text.len() {
                let name = &text[start..end];
                assert_eq!(
                    (Word::within(text, start..end), Word::alone(name)),
                    (Word::of(name), Word::of(name))
                );
                assert!((1..text.len()).all(|at| {
                    let other = &text[at..(at + name.len()).min(text.len())];
                    name.len() > 16 || (Word::of(other) == Word::of(name)) == (other == name)
                }));
            }
        }
    }
}
