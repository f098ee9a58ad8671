//! Huffman code of HPACK (RFC 7541, appendix B).
//!
//! The code is canonical: codes of one length are consecutive numbers in the order of their symbols. So the lengths define it.
#![warn(clippy::arithmetic_side_effects, clippy::indexing_slicing, clippy::as_conversions)]

/// Longest code in bits.
const CODE_BITS_MAX: usize = 30;
/// Number of symbols: all bytes and the end of the string, which never occurs in a valid string.
const SYMBOLS: usize = 257;
/// Length of each symbol's code in bits.
const LENGTHS: [u8; SYMBOLS] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28,
    28, 28, 28, 28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6,
    6, 6, 7, 8, 15, 6, 12, 10, 13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7,
    8, 13, 19, 13, 14, 6, 15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7,
    15, 11, 14, 13, 28, 20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24,
    23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, 22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23,
    23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23, 26, 26, 20, 19, 22, 23, 22, 25, 26,
    26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27, 20, 24, 20,
    21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27,
    27, 27, 26, 30,
];

/// Codes of one length.
#[derive(Clone, Copy)]
struct Group {
    /// First code.
    first: u32,
    /// Number of codes.
    count: u32,
    /// Position of the first code's symbol in [`Code::symbols`].
    offset: u32,
}

struct Code {
    groups: [Group; CODE_BITS_MAX + 1],
    /// Symbols in the order of their codes.
    symbols: [u16; SYMBOLS],
}

static CODE: Code = code();

#[allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::as_conversions,
    reason = "the compiler evaluates it"
)]
const fn code() -> Code {
    let mut groups = [Group { first: 0, count: 0, offset: 0 }; CODE_BITS_MAX + 1];
    let mut symbols = [0; SYMBOLS];
    let mut used = 0;
    let mut next: u32 = 0;
    let mut length = 1;
    while length <= CODE_BITS_MAX {
        next <<= 1;
        groups[length] = Group { first: next, count: 0, offset: used as u32 };
        let mut symbol = 0;
        while symbol < SYMBOLS {
            if LENGTHS[symbol] as usize == length {
                symbols[used] = symbol as u16;
                used += 1;
                next += 1;
                groups[length].count += 1;
            }
            symbol += 1;
        }
        length += 1;
    }
    Code { groups, symbols }
}

/// Appends the decoded string to `text`. Returns `None` for an invalid code.
pub(crate) fn decode(encoded: &[u8], text: &mut Vec<u8>) -> Option<()> {
    let mut code: u32 = 0;
    let mut length: usize = 0;
    for byte in encoded {
        for shift in (0..8_u32).rev() {
            code = (code << 1) | u32::from(byte.checked_shr(shift).unwrap_or_default() & 1);
            length = length.saturating_add(1);
            let group = CODE.groups.get(length)?;
            let Some(rank) = code.checked_sub(group.first).filter(|rank| *rank < group.count) else {
                continue;
            };
            let position = usize::try_from(group.offset.saturating_add(rank)).ok()?;
            text.push(u8::try_from(*CODE.symbols.get(position)?).ok()?);
            code = 0;
            length = 0;
        }
    }
    // Less than a byte of ones pads the last byte.
    (length < 8 && code.count_ones() == u32::try_from(length).ok()?).then_some(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn decoded(encoded: &[u8]) -> Option<Vec<u8>> {
        let mut text = Vec::new();
        decode(encoded, &mut text).map(|()| text)
    }

    #[test]
    fn examples_of_the_rfc_decode() {
        let host = [0xf1, 0xe3, 0xc2, 0xe5, 0xf2, 0x3a, 0x6b, 0xa0, 0xab, 0x90, 0xf4, 0xff];
        assert_eq!(decoded(&host).unwrap(), b"www.example.com");
        assert_eq!(decoded(&[0xa8, 0xeb, 0x10, 0x64, 0x9c, 0xbf]).unwrap(), b"no-cache");
        assert_eq!(decoded(&[0xff, 0xff, 0xea]).unwrap(), b"\t");
        assert_eq!(decoded(b"").unwrap(), b"");
    }

    #[test]
    fn code_is_complete() {
        let codes: f64 = LENGTHS.iter().map(|length| 0.5_f64.powi(i32::from(*length))).sum();
        assert!((codes - 1.0).abs() < f64::EPSILON);
    }

    #[test]
    fn padding_is_less_than_a_byte_of_ones() {
        assert!(decoded(&[0b111]).is_some());
        for invalid in [&[0b0000_0110][..], &[0xff], &[0b0000_0111, 0xff], &[0xff, 0xff, 0xff, 0xff]] {
            assert_eq!(decoded(invalid), None, "{invalid:?}");
        }
    }
}
