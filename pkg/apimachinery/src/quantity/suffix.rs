//! Suffixes of quantities with their factors.
#![allow(clippy::arithmetic_side_effects, clippy::as_conversions)]

use super::Format;
use crate::strconv::parse_int;

/// Decimal suffixes, by power of ten.
const DECIMAL: [(&str, i32); 10] =
    [("n", -9), ("u", -6), ("m", -3), ("", 0), ("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18)];

/// Binary suffixes, by power of 1024.
const BINARY: [(&str, i32); 6] = [("Ki", 1), ("Mi", 2), ("Gi", 3), ("Ti", 4), ("Pi", 5), ("Ei", 6)];

/// Returns the exponent of a suffix: a power of ten, or of two for [`Format::BinarySi`].
pub(super) fn interpret(suffix: &str) -> Option<(i32, Format)> {
    let find = |table: &[(&str, i32)]| table.iter().find(|(s, _)| *s == suffix).map(|(_, e)| *e);
    if let Some(exponent) = find(&DECIMAL) {
        return Some((exponent, Format::DecimalSi));
    }
    if let Some(exponent) = find(&BINARY) {
        return Some((exponent * 10, Format::BinarySi));
    }
    let exponent = parse_int(suffix.strip_prefix(['e', 'E'])?).ok()?;
    // Upstream truncates the exponent to 32 bits, so e4294967296 means e0.
    #[expect(clippy::cast_possible_truncation, reason = "as upstream does")]
    let exponent = exponent as i32;
    Some((exponent, Format::DecimalExponent))
}

/// Suffix for 10^`exponent`, a multiple of three. There is none beyond `E`; as in upstream, the bare mantissa
/// is printed then.
pub(super) fn decimal(exponent: i32) -> &'static str {
    DECIMAL.iter().find(|(_, e)| *e == exponent).map_or("", |(suffix, _)| suffix)
}

/// The suffix for 1024^`power`, with the same gap beyond `Ei`.
pub(super) fn binary(power: i32) -> &'static str {
    BINARY.iter().find(|(_, p)| *p == power).map_or("", |(suffix, _)| suffix)
}
