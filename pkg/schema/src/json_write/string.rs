//! JSON strings as written by Go: HTML characters and the two Unicode line separators are escaped, invalid
//! UTF-8 becomes U+FFFD.

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = 0x8080_8080_8080_8080;
/// Seven plain bytes above a byte to check.
const PLAIN: u64 = 0x6161_6161_6161_6100;
const HEX: &[u8; 16] = b"0123456789abcdef";

/// Appends a quoted string. `bytes` need not be UTF-8: each invalid byte becomes `\ufffd`.
#[inline]
pub fn write_string(bytes: &[u8], out: &mut Vec<u8>) {
    out.reserve(bytes.len() + 2);
    out.push(b'"');
    let plain = plain_len(bytes);
    let (head, tail) = bytes.split_at_checked(plain).unwrap_or_default();
    out.extend_from_slice(head);
    if !tail.is_empty() {
        escape(tail, out);
    }
    out.push(b'"');
}

/// Number of leading bytes that are ASCII without escapes.
#[inline]
pub fn plain_len(bytes: &[u8]) -> usize {
    let (words, rest) = bytes.as_chunks::<8>();
    for (at, word) in words.iter().enumerate() {
        let special = special(u64::from_le_bytes(*word));
        if special != 0 {
            return at * 8 + special.trailing_zeros() as usize / 8;
        }
    }
    // The rest of a longer string is checked together with preceding bytes.
    let tail = match (bytes.last_chunk::<8>(), rest.first_chunk::<4>(), rest.last_chunk::<4>()) {
        (Some(word), ..) => u64::from_le_bytes(*word),
        (None, Some(&[a, b, c, d]), Some(&[e, f, g, h])) => u64::from_le_bytes([a, b, c, d, e, f, g, h]),
        _ => HIGHS,
    };
    let plain_rest = match special(tail) {
        0 => rest.len(),
        _ => rest.iter().position(|&byte| special(u64::from(byte) | PLAIN) != 0).unwrap_or(rest.len()),
    };
    bytes.len() - rest.len() + plain_rest
}

/// Marks bytes that need a check: the lowest mark is exact, higher ones may be false. A byte is special if it
/// is above 0x7f, below 0x20, `"` or `&` (which differ in one bit), `<` or `>` (likewise), or a backslash.
#[inline]
fn special(word: u64) -> u64 {
    let below = |word: u64, n: u64| word.wrapping_sub(ONES * n) & !word;
    let zero = |word: u64| below(word, 1);
    let quote = zero((word | (ONES * 4)) ^ (ONES * 0x26));
    let angle = zero((word | (ONES * 2)) ^ (ONES * 0x3e));
    let backslash = zero(word ^ (ONES * 0x5c));
    (word | below(word, 0x20) | quote | angle | backslash) & HIGHS
}

/// Appends the rest of a string, beginning with a byte that may need an escape.
#[cold]
fn escape(bytes: &[u8], out: &mut Vec<u8>) {
    let mut rest = bytes;
    while let Some(&byte) = rest.first() {
        let taken = if byte < 0x80 {
            escape_ascii(byte, out);
            1
        } else {
            escape_unicode(rest, out)
        };
        rest = rest.get(taken..).unwrap_or_default();
        let (plain, tail) = rest.split_at_checked(plain_len(rest)).unwrap_or_default();
        out.extend_from_slice(plain);
        rest = tail;
    }
}

fn escape_ascii(byte: u8, out: &mut Vec<u8>) {
    let letter = match byte {
        b'"' | b'\\' => byte,
        0x08 => b'b',
        0x0c => b'f',
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        _ => return escape_code(u16::from(byte), out),
    };
    out.extend_from_slice(&[b'\\', letter]);
}

/// Appends an escape such as `\u003c`.
pub(crate) fn escape_code(code: u16, out: &mut Vec<u8>) {
    let digit = |shift: u16| HEX.get(usize::from(code >> shift & 15)).copied().unwrap_or_default();
    out.extend_from_slice(&[b'\\', b'u', digit(12), digit(8), digit(4), digit(0)]);
}

/// Appends one character beyond ASCII, or one invalid byte; returns its length.
fn escape_unicode(rest: &[u8], out: &mut Vec<u8>) -> usize {
    let head = rest.get(..4).unwrap_or(rest);
    let valid = head.utf8_chunks().next().map(|chunk| chunk.valid()).and_then(|text| text.chars().next());
    match valid {
        Some(c @ ('\u{2028}' | '\u{2029}')) => {
            escape_code(c as u32 as u16, out);
            3
        }
        Some(c) => {
            let mut buffer = [0; 4];
            out.extend_from_slice(c.encode_utf8(&mut buffer).as_bytes());
            c.len_utf8()
        }
        None => {
            escape_code(0xfffd, out);
            1
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &[u8], expected: &str) {
        let mut out = Vec::new();
        write_string(bytes, &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn strings_are_escaped_like_go() {
        check(b"", r#""""#);
        check(b"plain text of more than eight bytes", r#""plain text of more than eight bytes""#);
        check(b"a\"b\\c/d", r#""a\"b\\c/d""#);
        check(b"\x00\x08\x09\x0a\x0c\x0d\x1f\x7f", "\"\\u0000\\b\\t\\n\\f\\r\\u001f\x7f\"");
        check(b"<script>&amp;", r#""\u003cscript\u003e\u0026amp;""#);
        check("é\u{2028}\u{2029}日本\u{10348}".as_bytes(), "\"é\\u2028\\u2029日本\u{10348}\"");
        check(b"ok\xff\xfeok", r#""ok\ufffd\ufffdok""#);
        check(b"\xe2\x80", r#""\ufffd\ufffd""#);
        check("\u{fffd}".as_bytes(), "\"\u{fffd}\"");
    }

    #[test]
    fn the_word_scan_agrees_with_a_table() {
        let needs_look = |b: u8| !(0x20..0x80).contains(&b) || br#""\<>&"#.contains(&b);
        for byte in 0..=255 {
            for len in 1..20 {
                for at in 0..len {
                    let mut bytes = vec![b'x'; len];
                    bytes[at] = byte;
                    let expected = if needs_look(byte) { at } else { len };
                    assert_eq!(plain_len(&bytes), expected, "{byte} at {at} of {len}");
                }
            }
        }
    }
}
