//! Names of members as they are compared: most are too short for a call that compares memory to pay.

/// Whether two names are the same.
#[inline]
pub fn same_name(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    one.len() == other.len()
        && match one.len() {
            0 => true,
            8..=16 => ends::<8>(one) == ends::<8>(other),
            4..=7 => ends::<4>(one) == ends::<4>(other),
            _ => one == other,
        }
}

/// The first and the last bytes, which may overlap in the middle.
#[inline]
fn ends<const N: usize>(text: &[u8]) -> (Option<&[u8; N]>, Option<&[u8; N]>) {
    (text.first_chunk(), text.last_chunk())
}
