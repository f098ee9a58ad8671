//! Finds the end of an object by its braces alone. For text that is known to be valid JSON this is several
//! times faster than tokenizing. As in [`stops`](super::stops), each bit of a word represents one of 64
//! bytes.

use wide::u8x16;

const BLOCK: usize = 64;

/// The end of the object that begins at `start`: the position after its last brace. `None` if the text ends
/// earlier. For invalid JSON the result is arbitrary.
pub(super) fn end_of_object(text: &[u8], start: usize) -> Option<usize> {
    let mut state = State::default();
    let mut depth = 0_usize;
    let rest = text.get(start..)?;
    for (number, part) in rest.chunks(BLOCK).enumerate() {
        let mut block = [0; BLOCK];
        let padded = part.first_chunk::<BLOCK>().unwrap_or_else(|| {
            block.iter_mut().zip(part).for_each(|(to, from)| *to = *from);
            &block
        });
        let (opening, closing) = state.braces(padded);
        if depth > closing.count_ones() as usize {
            depth = depth + opening.count_ones() as usize - closing.count_ones() as usize;
            continue;
        }
        let mut braces = opening | closing;
        while braces != 0 {
            let at = braces.trailing_zeros();
            depth = if opening >> at & 1 == 1 { depth + 1 } else { depth.checked_sub(1)? };
            if depth == 0 {
                return Some(start + number * BLOCK + at as usize + 1);
            }
            braces &= braces - 1;
        }
    }
    None
}

/// State carried over from the preceding bytes.
#[derive(Default)]
struct State {
    /// True if the block begins within a string.
    in_string: bool,
    /// True if the block's first byte is escaped by a preceding backslash.
    escaped: bool,
}

impl State {
    /// The opening and closing braces of the next block that are not in strings.
    fn braces(&mut self, block: &[u8; BLOCK]) -> (u64, u64) {
        let [mut quotes, backslashes, opening, closing] = bits(block);
        if self.escaped || backslashes != 0 {
            quotes &= !self.escapes(backslashes);
        }
        // Sets all bits from each opening quote to its closing quote.
        let mut inside = quotes;
        for shift in [1, 2, 4, 8, 16, 32] {
            inside ^= inside << shift;
        }
        if self.in_string {
            inside = !inside;
        }
        self.in_string = inside >> (BLOCK - 1) == 1;
        (opening & !inside, closing & !inside)
    }

    /// The bytes that are escaped by a backslash.
    fn escapes(&mut self, mut backslashes: u64) -> u64 {
        let mut escaped = u64::from(self.escaped);
        backslashes &= !escaped;
        self.escaped = false;
        while backslashes != 0 {
            let at = backslashes.trailing_zeros();
            let next = 2_u64.checked_shl(at).unwrap_or(0);
            self.escaped = next == 0;
            escaped |= next;
            backslashes &= !next & (backslashes - 1);
        }
        escaped
    }
}

/// Bits of quotes, backslashes, opening and closing braces.
fn bits(block: &[u8; BLOCK]) -> [u64; 4] {
    let mut all = [0; 4];
    let (parts, _) = block.as_chunks::<16>();
    for (number, part) in parts.iter().enumerate() {
        let part = u8x16::new(*part);
        for (bits, byte) in all.iter_mut().zip(*b"\"\\{}") {
            *bits |= u64::from(part.simd_eq(u8x16::splat(byte)).to_bitmask()) << (16 * number);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::scan::Scanner;

    /// The reference: finds the end by tokenizing.
    fn by_tokens(text: &[u8], start: usize) -> Option<usize> {
        let rest = text.get(start..)?;
        Scanner::new(rest).skip().ok().map(|object| start + object.len())
    }

    #[test]
    fn an_object_ends_where_its_tokens_end() {
        let pieces = [
            r#""a":1"#,
            r#""}":"{""#,
            r#""\\":"\"}""#,
            r#""b":{"c":[{},{"d":"\\\\"}]}"#,
            r#""\u007b\\\"":"""#,
            r#""long":"a text of more than sixty-four bytes, so that whole blocks of it have no brace at all, nor a quote""#,
        ];
        for filler in 0..130 {
            for (at, piece) in pieces.iter().enumerate() {
                let siblings = pieces.get(at..).unwrap_or_default().join(",");
                let text =
                    format!("{}{{\"f\":\"{}\",{piece},{siblings}}}}} ", " ".repeat(at), "x".repeat(filler));
                let end = end_of_object(text.as_bytes(), at);
                assert_eq!(end, by_tokens(text.as_bytes(), at), "{text}");
                assert!(end.is_some(), "{text}");
            }
        }
    }

    #[test]
    fn truncated_objects_have_no_end() {
        let text = format!("{{\"a\":{{\"b\":\"{}}}\"}}}}", "x".repeat(100));
        for end in 0..text.len() {
            assert_eq!(end_of_object(text.get(..end).unwrap_or_default().as_bytes(), 0), None, "{end}");
        }
        assert_eq!(end_of_object(text.as_bytes(), 0), Some(text.len()));
        assert_eq!(end_of_object(b"}", 0), None);
        assert_eq!(end_of_object(b"", 1), None);
    }
}
