//! Converts string literals to text like Go: nothing is rejected; invalid characters become U+FFFD.

use std::borrow::Cow;

use jsontree::Text;

/// The text between the quotes; the scanner has checked the escapes.
#[derive(Clone, Copy)]
pub enum RawString<'a> {
    /// Text without escapes.
    Plain(&'a str),
    /// There are escapes, or bytes that may be invalid UTF-8.
    Coded(&'a [u8]),
}

impl<'a> RawString<'a> {
    /// The unescaped text.
    #[inline]
    pub fn text(&self) -> Cow<'a, str> {
        match *self {
            RawString::Plain(text) => Cow::Borrowed(text),
            RawString::Coded(bytes) => Cow::Owned(unescape(bytes)),
        }
    }

    #[inline(always)]
    pub(crate) fn into_text(self) -> Text {
        match self {
            RawString::Plain(text) => text.into(),
            RawString::Coded(bytes) => unescape(bytes).into(),
        }
    }
}

#[inline(never)]
fn unescape(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        unescape_into(&mut out, chunk.valid());
        push_replacements(&mut out, chunk.invalid().len());
    }
    out
}

fn push_replacements(out: &mut String, count: usize) {
    out.extend(std::iter::repeat_n(char::REPLACEMENT_CHARACTER, count));
}

fn unescape_into(out: &mut String, mut text: &str) {
    while let Some((plain, rest)) = text.split_once('\\') {
        out.push_str(plain);
        let mut chars = rest.chars();
        let c = match chars.next() {
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('u') => {
                let (c, rest) = unicode_escape(chars.as_str());
                out.push(c);
                text = rest;
                continue;
            }
            Some(c) => c,
            None => return,
        };
        out.push(c);
        text = chars.as_str();
    }
    out.push_str(text);
}

/// Parses the rest of an escape after `\u`, including the second half of a surrogate pair. Returns the
/// remaining text.
fn unicode_escape(text: &str) -> (char, &str) {
    let (unit, rest) = hex_unit(text);
    if let Some(c) = char::from_u32(unit) {
        return (c, rest);
    }
    if let Some(second) = rest.strip_prefix("\\u") {
        let (low, after) = hex_unit(second);
        if (0xd800..0xdc00).contains(&unit) && (0xdc00..0xe000).contains(&low) {
            let c = char::from_u32(0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00));
            return (c.unwrap_or(char::REPLACEMENT_CHARACTER), after);
        }
    }
    (char::REPLACEMENT_CHARACTER, rest)
}

fn hex_unit(text: &str) -> (u32, &str) {
    let (digits, rest) = text.split_at_checked(4).unwrap_or((text, ""));
    (u32::from_str_radix(digits, 16).unwrap_or(0), rest)
}
