//! Comparison of names and other short texts. Most are too short to justify a `memcmp` call. Two empty ones
//! must not be passed to `memcmp`: it may load from their dangling address with every byte masked out. On
//! some processors that takes longer than all other comparisons of a request.

use std::cmp::Ordering;

/// True if both texts have the same bytes.
#[inline]
pub fn is_equal(one: &str, other: &str) -> bool {
    let one = one.as_bytes();
    let other = other.as_bytes();
    one.len() == other.len()
        && match one.len() {
            0 => true,
            8..=16 => ends::<8>(one) == ends::<8>(other),
            4..=7 => ends::<4>(one) == ends::<4>(other),
            _ => one == other,
        }
}

/// Compares two names bytewise. The first eight bytes differ in most comparisons.
#[inline]
pub(crate) fn order(one: &str, other: &str) -> Ordering {
    let one = one.as_bytes();
    let other = other.as_bytes();
    prefix(one).cmp(&prefix(other)).then_with(|| one.cmp(other))
}

/// Returns the first eight bytes as a number with the same order. Missing bytes count as zeros.
#[inline]
fn prefix(name: &[u8]) -> u64 {
    let four = |bytes: &[u8; 4]| u64::from(u32::from_be_bytes(*bytes));
    match (name.first_chunk(), ends::<4>(name)) {
        (Some(eight), _) => u64::from_be_bytes(*eight),
        // Overlapping bytes are the same in both halves.
        (_, (Some(first), Some(last))) => four(first) << 32 | four(last) << (64 - 8 * name.len()),
        _ => name.iter().zip([56, 48, 40]).fold(0, |number, (byte, at)| number | u64::from(*byte) << at),
    }
}

/// Returns the first and the last `N` bytes, which may overlap.
#[inline]
fn ends<const N: usize>(text: &[u8]) -> (Option<&[u8; N]>, Option<&[u8; N]>) {
    (text.first_chunk(), text.last_chunk())
}
