//! Go's `%q`, which upstream uses for strings in error texts.
//!
//! Clients and tools match error texts, so the escapes must be Go's and not Rust's: `\x7f`, `\u00a0`,
//! `\U000e0001`.

use std::fmt::{self, Display, Write};

mod printable;
use printable::PRINTABLE;

/// Displays a string like Go's `strconv.Quote`, with double quotes.
#[derive(Clone, Copy, Debug)]
pub struct Quoted<'a>(pub &'a str);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        let mut plain_from = 0;
        for (at, c) in self.0.char_indices() {
            if is_plain(c) {
                continue;
            }
            f.write_str(self.0.get(plain_from..at).unwrap_or_default())?;
            escape(f, c)?;
            plain_from = at.saturating_add(c.len_utf8());
        }
        f.write_str(self.0.get(plain_from..).unwrap_or_default())?;
        f.write_char('"')
    }
}

/// The text of [`Quoted`].
pub fn quote(text: &str) -> String {
    Quoted(text).to_string()
}

/// Quotes bytes that may not be UTF-8. Each byte outside a valid character becomes `\xNN`, as for Go's byte
/// strings.
pub fn quote_bytes(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().saturating_add(2));
    out.push('"');
    for chunk in bytes.utf8_chunks() {
        let quoted = quote(chunk.valid());
        out.push_str(quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default());
        for byte in chunk.invalid() {
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    out.push('"');
    out
}

/// Go's `strconv.IsPrint`: letters, marks, numbers, punctuation, symbols and
/// the ASCII space.
pub fn is_printable(c: char) -> bool {
    let code = u32::from(c);
    if code < 0x80 {
        return (0x20..0x7f).contains(&code);
    }
    let following = PRINTABLE.partition_point(|&(first, _)| first <= code);
    following.checked_sub(1).and_then(|index| PRINTABLE.get(index)).is_some_and(|&(_, last)| code <= last)
}

fn is_plain(c: char) -> bool {
    c != '"' && c != '\\' && is_printable(c)
}

fn escape(f: &mut fmt::Formatter<'_>, c: char) -> fmt::Result {
    match c {
        '"' => f.write_str("\\\""),
        '\\' => f.write_str("\\\\"),
        '\u{7}' => f.write_str("\\a"),
        '\u{8}' => f.write_str("\\b"),
        '\u{c}' => f.write_str("\\f"),
        '\n' => f.write_str("\\n"),
        '\r' => f.write_str("\\r"),
        '\t' => f.write_str("\\t"),
        '\u{b}' => f.write_str("\\v"),
        c if c < ' ' || c == '\u{7f}' => write!(f, "\\x{:02x}", u32::from(c)),
        c if u32::from(c) < 0x1_0000 => write!(f, "\\u{:04x}", u32::from(c)),
        c => write!(f, "\\U{:08x}", u32::from(c)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(input: &str, expected: &str) {
        assert_eq!(quote(input), expected);
    }

    #[test]
    fn escapes_match_go() {
        check("", r#""""#);
        check("plain text", r#""plain text""#);
        check("a\"b\\c", r#""a\"b\\c""#);
        check("\u{7}\u{8}\u{c}\n\r\t\u{b}", r#""\a\b\f\n\r\t\v""#);
        check("\0\u{1f}\u{7f}", r#""\x00\x1f\x7f""#);
        check("ä☺日本", "\"ä☺日本\"");
        check("\u{80}\u{a0}\u{ad}", r#""\u0080\u00a0\u00ad""#);
        check("\u{200b}\u{2028}\u{feff}", r#""\u200b\u2028\ufeff""#);
        check("\u{fffd}", "\"\u{fffd}\"");
        check("\u{e0001}\u{10ffff}", r#""\U000e0001\U0010ffff""#);
        check("😀", "\"😀\"");
    }

    #[test]
    fn combining_marks_stay_as_they_are() {
        check("e\u{301}", "\"e\u{301}\"");
    }

    #[test]
    fn stray_bytes_become_hex_escapes() {
        assert_eq!(quote_bytes(b"a\xffb\xc3\xa4\""), "\"a\\xffbä\\\"\"");
    }

    #[test]
    fn the_range_table_is_sorted_and_disjoint() {
        assert!(PRINTABLE.iter().all(|(first, last)| first <= last));
        assert!(PRINTABLE.windows(2).all(|pair| matches!(pair, [a, b] if a.1 < b.0)));
    }
}
