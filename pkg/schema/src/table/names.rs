//! Perfect hash table of a type's member names: a lookup needs one multiplication and one comparison. The
//! multiplier was chosen at build time so that the names have no collisions.

use std::ops::Range;

/// The hash table.
#[derive(Debug)]
pub struct Names {
    /// Distributes the names over the slots.
    pub multiplier: u64,
    /// Shift of the product: 64 minus the logarithm of the number of slots.
    pub shift: u32,
    /// The index of the member with this hash, or [`NO_MEMBER`].
    pub slots: &'static [u8],
}

/// An empty slot.
pub const NO_MEMBER: u8 = u8::MAX;

impl Names {
    /// The index of the only member that can have this name.
    #[inline]
    pub fn find(&self, name: Word) -> usize {
        let slot = slot(name, self.multiplier, self.shift);
        usize::from(self.slots.get(slot).copied().unwrap_or(NO_MEMBER))
    }
}

/// A name as numbers. For names of up to 16 bytes it is sufficient for a comparison without branches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Word {
    /// The first eight bytes, zero-padded.
    first: u64,
    /// The last eight bytes; for a shorter name like `first`.
    last: u64,
    len: usize,
}

impl Word {
    /// The word of a table's name, at build time.
    pub const fn of(name: &[u8]) -> Self {
        let mut words = [[0; 8]; 2];
        let tail = name.len().saturating_sub(8);
        let mut at = 0;
        while at < name.len() {
            if at < 8 {
                words[0][at] = name[at];
            }
            if at >= tail {
                words[1][at - tail] = name[at];
            }
            at += 1;
        }
        Word { first: u64::from_le_bytes(words[0]), last: u64::from_le_bytes(words[1]), len: name.len() }
    }

    /// The word of a separate name.
    #[inline]
    pub fn alone(name: &[u8]) -> Self {
        Word::within(name, 0..name.len())
    }

    /// The word of a name within a text. For a short name, bytes after it are read, too.
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

    /// True if equal words imply equal names.
    #[inline]
    pub fn is_all(self) -> bool {
        self.len <= 16
    }
}

/// The slot of a name. Names of the same length with the same beginning and end share a slot.
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
    fn members_are_found_only_by_their_names() {
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
    fn word_does_not_depend_on_context() {
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
