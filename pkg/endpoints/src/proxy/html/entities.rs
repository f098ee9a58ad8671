//! Character references in attribute values (Go's `html.unescape` and `html.escape`).

use std::borrow::Cow;

/// Characters for the numbers 0x80 to 0x9f, which mean Windows-1252.
const WINDOWS_1252: [char; 32] = [
    '\u{20ac}', '\u{81}', '\u{201a}', '\u{192}', '\u{201e}', '\u{2026}', '\u{2020}', '\u{2021}', '\u{2c6}',
    '\u{2030}', '\u{160}', '\u{2039}', '\u{152}', '\u{8d}', '\u{17d}', '\u{8f}', '\u{90}', '\u{2018}',
    '\u{2019}', '\u{201c}', '\u{201d}', '\u{2022}', '\u{2013}', '\u{2014}', '\u{2dc}', '\u{2122}', '\u{161}',
    '\u{203a}', '\u{153}', '\u{9d}', '\u{17e}', '\u{178}',
];

/// Longest name of a reference, with the ampersand and the semicolon.
const NAME_BYTES_MAX: usize = 40;

/// Decodes an attribute value: references, line ends, and NUL bytes.
pub(super) fn decode(value: &[u8]) -> Vec<u8> {
    let value = line_feeds(&without_nul(value));
    let mut out = Vec::with_capacity(value.len());
    let mut rest = &*value;
    while let Some(at) = memchr::memchr(b'&', rest) {
        let (before, reference) = rest.split_at(at);
        out.extend_from_slice(before);
        let decoded = match reference.get(1) {
            Some(b'#') => number(reference),
            _ => name(reference),
        };
        let (text, len) = decoded.unwrap_or((Cow::Borrowed(b"&"), 1));
        out.extend_from_slice(&text);
        rest = reference.get(len..).unwrap_or_default();
    }
    out.extend_from_slice(rest);
    out
}

/// Appends an attribute value for double quotes.
pub(super) fn encode(value: &[u8], out: &mut Vec<u8>) {
    for byte in value {
        let reference: &[u8] = match byte {
            b'&' => b"&amp;",
            b'\'' => b"&#39;",
            b'<' => b"&lt;",
            b'>' => b"&gt;",
            b'"' => b"&#34;",
            b'\r' => b"&#13;",
            byte => std::slice::from_ref(byte),
        };
        out.extend_from_slice(reference);
    }
}

/// Replaces NUL bytes by the replacement character.
pub(super) fn without_nul(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for byte in text {
        match byte {
            0 => out.extend_from_slice("\u{fffd}".as_bytes()),
            byte => out.push(*byte),
        }
    }
    out
}

/// Converts carriage returns, with or without a line feed, to line feeds.
fn line_feeds(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut previous = 0;
    for byte in text {
        match (*byte, previous) {
            (b'\n', b'\r') => {}
            (b'\r', _) => out.push(b'\n'),
            (byte, _) => out.push(byte),
        }
        previous = *byte;
    }
    out
}

/// Decodes a reference by number. Returns the text and the length of the reference.
fn number(reference: &[u8]) -> Option<(Cow<'static, [u8]>, usize)> {
    let radix = if matches!(reference.get(2), Some(b'x' | b'X')) { 16 } else { 10 };
    let start = if radix == 16 { 3 } else { 2 };
    let digits = reference.get(start..)?.iter().map_while(|byte| char::from(*byte).to_digit(radix));
    let mut len = start;
    let mut number: u32 = 0;
    for digit in digits {
        number = number.saturating_mul(radix).saturating_add(digit);
        len += 1;
    }
    if len == start {
        return None;
    }
    if reference.get(len) == Some(&b';') {
        len += 1;
    }
    let character = match number {
        0x80..=0x9f => WINDOWS_1252.get(number as usize - 0x80).copied(),
        0 => None,
        number => char::from_u32(number),
    };
    let text = character.unwrap_or(char::REPLACEMENT_CHARACTER).to_string();
    Some((Cow::Owned(text.into_bytes()), len))
}

/// Decodes a reference by name. Returns the text and the length of the reference.
fn name(reference: &[u8]) -> Option<(Cow<'static, [u8]>, usize)> {
    let letters =
        reference.iter().skip(1).take(NAME_BYTES_MAX).take_while(|byte| byte.is_ascii_alphanumeric());
    let mut len = 1 + letters.count();
    match reference.get(len) {
        Some(b';') => len += 1,
        // In an attribute, `&copy=` is a parameter of a URL.
        Some(b'=') => return None,
        _ => {}
    }
    let text = htmlize::ENTITIES.get(reference.get(..len)?)?;
    Some((Cow::Borrowed(text), len))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_decoded() {
        let check = |value: &str, expected: &str| {
            assert_eq!(String::from_utf8_lossy(&decode(value.as_bytes())), expected, "{value}");
        };
        check("a&amp;b&ampc&amp", "a&b&ampc&");
        check("?a=b&copy=c&copy;", "?a=b&copy=c©");
        check("&#65;&#x41&#X41;&#;&#x;", "AAA&#;&#x;");
        check("&#0;&#128;&#xd800;&#x110000;&#99999999999999;", "\u{fffd}€\u{fffd}\u{fffd}\u{fffd}");
        check("&;&&unknown;&NotEqualTilde;", "&;&&unknown;≂̸");
        check("a\r\nb\rc\0", "a\nb\nc\u{fffd}");
    }

    #[test]
    fn special_characters_are_encoded() {
        let mut out = Vec::new();
        encode(b"a&'<>\"\r\n", &mut out);
        assert_eq!(out, b"a&amp;&#39;&lt;&gt;&#34;&#13;\n");
    }
}
