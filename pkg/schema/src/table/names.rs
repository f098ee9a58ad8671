//! Where a name is among those of a type: one multiplication and one comparison, without a collision, for the
//! multiplier was chosen for these names when the tables were made.

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
    pub fn find(&self, name: &[u8]) -> usize {
        let slot = slot(name, self.multiplier, self.shift);
        usize::from(self.slots.get(slot).copied().unwrap_or(NO_MEMBER))
    }
}

/// The slot to which a name leads.
#[inline]
pub(super) fn slot(name: &[u8], multiplier: u64, shift: u32) -> usize {
    (digest(name).wrapping_mul(multiplier) >> shift) as usize
}

/// The length and the first and last bytes of a name. Names that differ in none of them share a digest.
#[inline]
fn digest(name: &[u8]) -> u64 {
    let (first, last) = match (name.first_chunk(), name.last_chunk()) {
        (Some(first), Some(last)) => (u64::from_le_bytes(*first), u64::from_le_bytes(*last)),
        _ => match (name.first_chunk(), name.last_chunk()) {
            (Some(first), Some(last)) => {
                (u32::from_le_bytes(*first).into(), u32::from_le_bytes(*last).into())
            }
            _ => {
                let byte = |at: usize| u64::from(name.get(at).copied().unwrap_or_default());
                (byte(0) | byte(name.len() / 2) << 8, byte(name.len().saturating_sub(1)))
            }
        },
    };
    (first ^ last.rotate_left(31)).wrapping_add((name.len() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

#[cfg(test)]
mod tests {
    use crate::builtin;

    #[test]
    fn every_member_is_found_by_its_name_and_no_other_name_finds_it() {
        for message in builtin::ALL {
            for (at, member) in message.members.iter().enumerate() {
                assert_eq!(message.find_member(member.name).map(|(found, _)| found), Some(at));
            }
            for name in ["", "x", "metadatA", "\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}"] {
                assert!(message.find_member(name).is_none(), "{} has no {name:?}", message.name);
            }
        }
    }
}
