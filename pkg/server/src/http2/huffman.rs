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
    /// Symbol and length of the code with which each byte starts, if it has at most 8 bits; otherwise the length 0.
    short: [(u16, u8); 256],
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
    Code { groups, symbols, short: short(&groups, &symbols) }
}

#[allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::as_conversions,
    reason = "the compiler evaluates it"
)]
const fn short(groups: &[Group; CODE_BITS_MAX + 1], symbols: &[u16; SYMBOLS]) -> [(u16, u8); 256] {
    let mut short = [(0, 0); 256];
    let mut byte = 0;
    while byte < 256 {
        let mut length = 1;
        while length <= 8 {
            let group = groups[length];
            let code = byte as u32 >> (8 - length);
            if code >= group.first && code < group.first + group.count {
                short[byte] = (symbols[(group.offset + code - group.first) as usize], length as u8);
                break;
            }
            length += 1;
        }
        byte += 1;
    }
    short
}

/// Appends the decoded string to `text`. Returns `None` for an invalid code.
pub(crate) fn decode(encoded: &[u8], text: &mut Vec<u8>) -> Option<()> {
    let mut unread = Bits::default();
    for byte in encoded {
        unread.push(*byte);
        // Most codes have at most 8 bits, so that one look-up finds them.
        while unread.count >= 8 {
            let Some(symbol) = unread.take_symbol()? else { break };
            text.push(symbol);
        }
    }
    while let Some(symbol) = unread.take_symbol()? {
        text.push(symbol);
    }
    // Less than a byte of ones pads the last byte.
    (unread.count < 8 && unread.bits == ones(unread.count)).then_some(())
}

/// Bits that are not decoded yet, the first one highest.
#[derive(Default)]
struct Bits {
    bits: u64,
    count: u32,
}

impl Bits {
    fn push(&mut self, byte: u8) {
        self.bits = (self.bits << 8) | u64::from(byte);
        self.count = self.count.saturating_add(8);
    }

    /// Takes the next symbol; `Some(None)` if its code is not complete, `None` for the end of the string.
    fn take_symbol(&mut self) -> Option<Option<u8>> {
        let Some((symbol, length)) = self.short_code().or_else(|| self.any_code()) else {
            return Some(None);
        };
        self.count = self.count.saturating_sub(length);
        self.bits &= ones(self.count);
        u8::try_from(symbol).ok().map(Some)
    }

    /// Returns the symbol of a code of at most 8 bits, and its length, if there are 8 bits.
    fn short_code(&self) -> Option<(u16, u32)> {
        let first = self.bits.checked_shr(self.count.checked_sub(8)?)?;
        let (symbol, length) = *CODE.short.get(usize::try_from(first).ok()?)?;
        (length > 0).then_some((symbol, u32::from(length)))
    }

    fn any_code(&self) -> Option<(u16, u32)> {
        let groups = (0..=self.count).zip(&CODE.groups);
        groups.into_iter().find_map(|(length, group)| {
            let code = self.bits.checked_shr(self.count.checked_sub(length)?)?;
            let rank = u32::try_from(code).ok()?.checked_sub(group.first)?;
            let position = usize::try_from(group.offset.checked_add(rank)?).ok()?;
            (rank < group.count).then_some((*CODE.symbols.get(position)?, length))
        })
    }
}

/// Returns a number whose lowest `count` bits are set.
fn ones(count: u32) -> u64 {
    u64::MAX.checked_shr(64_u32.saturating_sub(count)).unwrap_or_default()
}

#[cfg(test)]
#[allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    reason = "tests"
)]
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

    /// Appends the bits of a code.
    fn encode(text: &[u8]) -> Vec<u8> {
        let mut bits = String::new();
        for byte in text {
            let length = usize::from(LENGTHS[usize::from(*byte)]);
            let group = CODE.groups[length];
            let rank =
                LENGTHS[..usize::from(*byte)].iter().filter(|other| usize::from(**other) == length).count();
            bits += &format!("{:0length$b}", group.first as usize + rank);
        }
        bits += &"1".repeat(bits.len().next_multiple_of(8) - bits.len());
        bits.as_bytes()
            .chunks(8)
            .map(|byte| u8::from_str_radix(str::from_utf8(byte).unwrap(), 2).unwrap())
            .collect()
    }

    #[test]
    fn every_pair_of_bytes_decodes() {
        for first in 0..=u8::MAX {
            for second in 0..=u8::MAX {
                let text = [first, second, first];
                assert_eq!(decoded(&encode(&text)).as_deref(), Some(&text[..]));
            }
        }
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
