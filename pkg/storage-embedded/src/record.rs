//! The encoding of a change in the log on disk, keyed by its revision:
//!
//! ```text
//! u8   flags: bit 0 the change is a deletion
//! i64  revision that it supersedes, 0 for none
//! u64  deadline in milliseconds since the Unix epoch, 0 for none
//! u32  length of the key
//!      key, then value up to the end
//! ```
//!
//! Numbers are little-endian. The file's format number ([`crate::disk`]) covers this layout.

use bytes::{BufMut, Bytes};
use storage::Revision;
use storage::mvcc::{Change, Previous};

const DELETION: u8 = 1;
const HEADER: usize = 1 + 8 + 8 + 4;

/// A record, borrowed from a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Record<'a> {
    pub(crate) deletion: bool,
    pub(crate) supersedes: Revision,
    pub(crate) expires_at: u64,
    pub(crate) key: &'a str,
    pub(crate) value: &'a [u8],
}

/// The length of a change's record, `None` if the layout cannot represent it.
pub(crate) fn length(change: &Change) -> Option<usize> {
    u32::try_from(change.key.len()).ok()?;
    Some(HEADER + change.key.len() + change.value.as_ref().map_or(0, Bytes::len))
}

/// Writes a change's record into `out`, whose length must be [`length`].
pub(crate) fn encode(change: &Change, out: &mut [u8]) {
    let mut out = out;
    encode_head(change, &mut out);
    out.put_slice(change.value.as_deref().unwrap_or(&[]));
}

/// Writes a change's record without the value.
pub(crate) fn encode_head(change: &Change, out: &mut impl BufMut) {
    let flags = if change.value.is_none() { DELETION } else { 0 };
    let supersedes = change.previous.as_ref().map_or(0, |previous| previous.mod_revision);
    out.put_u8(flags);
    out.put_i64_le(supersedes);
    out.put_u64_le(change.expires_at.unwrap_or(0));
    out.put_u32_le(change.key.len() as u32);
    out.put_slice(change.key.as_bytes());
}

/// Parses a record, `None` if it is invalid.
pub(crate) fn decode(bytes: &[u8]) -> Option<Record<'_>> {
    let (flags, rest) = bytes.split_first()?;
    let (supersedes, rest) = rest.split_first_chunk()?;
    let (expires_at, rest) = rest.split_first_chunk()?;
    let (key_length, rest) = rest.split_first_chunk()?;
    let key_length = usize::try_from(u32::from_le_bytes(*key_length)).ok()?;
    let (key, value) = rest.split_at_checked(key_length)?;
    let deletion = *flags == DELETION;
    if *flags > DELETION || (deletion && !value.is_empty()) {
        return None;
    }
    Some(Record {
        deletion,
        supersedes: Revision::from_le_bytes(*supersedes),
        expires_at: u64::from_le_bytes(*expires_at),
        key: str::from_utf8(key).ok()?,
        value,
    })
}

impl Record<'_> {
    /// The superseded state, without its value.
    pub(crate) fn previous(&self) -> Option<Previous> {
        (self.supersedes != 0).then_some(Previous { mod_revision: self.supersedes, value: None })
    }

    /// The change at `revision`, with `previous` as the superseded value.
    pub(crate) fn change(&self, revision: Revision, previous: Option<Bytes>) -> Change {
        Change {
            revision,
            key: self.key.into(),
            value: (!self.deletion).then(|| Bytes::copy_from_slice(self.value)),
            previous: self.previous().map(|known| Previous { value: previous, ..known }),
            expires_at: (self.expires_at != 0).then_some(self.expires_at),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn encoded(change: &Change) -> Vec<u8> {
        let mut out = vec![0xFF; length(change).unwrap()];
        encode(change, &mut out);
        out
    }

    fn changes() -> Vec<Change> {
        let value = |text: &'static str| Some(Bytes::from_static(text.as_bytes()));
        let previous = |mod_revision| Some(Previous { mod_revision, value: None });
        let change = |value, previous, expires_at| Change {
            revision: 7,
            key: "/registry/ä".into(),
            value,
            previous,
            expires_at,
        };
        vec![
            change(value("v"), None, None),
            change(value(""), previous(3), Some(u64::MAX)),
            change(None, previous(6), None),
        ]
    }

    #[test]
    fn records_round_trip() {
        for change in changes() {
            assert_eq!(decode(&encoded(&change)).unwrap().change(7, None), change);
        }
    }

    #[test]
    fn truncated_records_are_invalid() {
        for change in changes() {
            let bytes = encoded(&change);
            for end in 0..HEADER + change.key.len() {
                assert_eq!(decode(&bytes[..end]), None, "cut at {end}");
            }
        }
    }

    #[test]
    fn unknown_flags_are_rejected() {
        let mut bytes = encoded(&changes().remove(0));
        bytes[0] = 2;
        assert_eq!(decode(&bytes), None);
        bytes[0] = DELETION;
        assert_eq!(decode(&bytes), None, "a deletion has no value");
    }
}
