//! Names and other short texts as they are compared: most are too short for a call that compares memory to pay, and two
//! empty ones must not be left to `memcmp`: it may load from their dangling address with every byte masked out, which
//! takes some processors longer than all other comparisons of a request.

use std::cmp::Ordering;

/// Whether two texts are the same.
#[inline]
pub fn same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    one.len() == other.len()
        && match one.len() {
            0 => true,
            8..=16 => ends::<8>(one) == ends::<8>(other),
            4..=7 => ends::<4>(one) == ends::<4>(other),
            _ => one == other,
        }
}

/// The order of two names, bytewise. The first eight bytes tell most apart.
#[inline]
pub(crate) fn order(one: &str, other: &str) -> Ordering {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    prefix(one).cmp(&prefix(other)).then_with(|| one.cmp(other))
}

/// The first eight bytes as a number that is ordered as they are; those that are missing count as zeros.
#[inline]
fn prefix(name: &[u8]) -> u64 {
    let four = |bytes: &[u8; 4]| u64::from(u32::from_be_bytes(*bytes));
    match (name.first_chunk(), ends::<4>(name)) {
        (Some(eight), _) => u64::from_be_bytes(*eight),
        // Bytes that are in both halves are the same in both.
        (_, (Some(first), Some(last))) => four(first) << 32 | four(last) << (64 - 8 * name.len()),
        _ => name.iter().zip([56, 48, 40]).fold(0, |number, (byte, at)| number | u64::from(*byte) << at),
    }
}

/// The first and the last bytes, which may overlap in the middle.
#[inline]
fn ends<const N: usize>(text: &[u8]) -> (Option<&[u8; N]>, Option<&[u8; N]>) {
    (text.first_chunk(), text.last_chunk())
}
