//! Fast path for JSON text, which is also YAML, without the YAML parser. The parser keeps everything between
//! two brackets in tokens of a hundred bytes each, because a whole collection may be a key.

use std::borrow::Cow;
use std::ops::Range;

use super::build::write_scalar;
use super::resolve::plain;
use crate::json::scan::Scanner;
use crate::json_write::write_string;

/// Maximum average number of times that each byte may be moved to sort members.
const MOVES_MAX: usize = 16;

/// The JSON that [`super::to_json`] would return; `None` if the text is not JSON, or if YAML would read it
/// differently or report anything.
pub(super) fn convert(text: &str) -> Option<Vec<u8>> {
    if !text.trim_start_matches([' ', '\n']).starts_with(['{', '[']) || !reads_alike(text) {
        return None;
    }
    let mut writer = Writer {
        scan: Scanner::new(text.as_bytes()),
        out: Vec::with_capacity(text.len()),
        members: Vec::new(),
        moves: text.len().saturating_mul(MOVES_MAX),
    };
    writer.value()?;
    writer.scan.end().ok()?;
    Some(writer.out)
}

/// True if all characters of the text have the same meaning in JSON and YAML.
fn reads_alike(text: &str) -> bool {
    let strange = |c: char| matches!(c, '\t' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}' | '\u{feff}');
    !text.chars().any(strange) && escapes_read_alike(text.as_bytes()) && !has_leading_colon(text)
}

/// Upstream's YAML version does not have `\/`, and decodes each half of a surrogate pair as a character.
fn escapes_read_alike(text: &[u8]) -> bool {
    let mut rest = text;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        let (consumed, alike) = match rest.get(at..) {
            Some([_, b'"' | b'\\' | b'b' | b'f' | b'n' | b'r' | b't', ..]) => (2, true),
            Some([_, b'u', digits @ ..]) => (2, !matches!(digits, [b'd' | b'D', ..])),
            _ => (0, false),
        };
        if !alike {
            return false;
        }
        rest = rest.get(at.saturating_add(consumed)..).unwrap_or_default();
    }
    true
}

/// True if a line begins with a colon, which JSON allows.
fn has_leading_colon(text: &str) -> bool {
    text.split('\n').skip(1).any(|line| line.trim_start_matches(' ').starts_with(':'))
}

struct Writer<'a> {
    scan: Scanner<'a>,
    out: Vec<u8>,
    /// The members of all open objects: their names, and their ranges in `out`.
    members: Vec<(Cow<'a, str>, Range<usize>)>,
    /// Remaining number of bytes that may be moved.
    moves: usize,
}

impl Writer<'_> {
    fn value(&mut self) -> Option<()> {
        match self.scan.value_start().ok()? {
            b'{' => self.object(),
            b'[' => self.list(),
            b'"' => {
                write_string(self.scan.string().ok()?.text().as_bytes(), &mut self.out);
                Some(())
            }
            b't' => self.word(b"true"),
            b'f' => self.word(b"false"),
            b'n' => self.word(b"null"),
            _ => {
                let number = self.scan.number().ok()?;
                write_scalar(plain(number), number, &mut self.out).ok()
            }
        }
    }

    fn word(&mut self, word: &[u8]) -> Option<()> {
        self.out.extend_from_slice(word);
        self.scan.word().ok()
    }

    fn list(&mut self) -> Option<()> {
        self.scan.open().ok()?;
        self.out.push(b'[');
        let mut first = true;
        while self.scan.next_item(first).ok()? {
            if !first {
                self.out.push(b',');
            }
            first = false;
            self.value()?;
        }
        self.out.push(b']');
        Some(())
    }

    fn object(&mut self) -> Option<()> {
        self.scan.open().ok()?;
        self.out.push(b'{');
        let first_member = self.members.len();
        let begin = self.out.len();
        let mut first = true;
        let mut sorted = true;
        while let Some(name) = self.scan.next_member(first).ok()? {
            if !first {
                self.out.push(b',');
            }
            let name = name.text();
            let start = self.out.len();
            sorted &= first || self.members.last().is_some_and(|(last, _)| *last < name);
            first = false;
            write_string(name.as_bytes(), &mut self.out);
            self.out.push(b':');
            // The end is set after the value was written.
            self.members.push((name, start..start));
            let member_count = self.members.len();
            self.value()?;
            let end = self.out.len();
            self.members.get_mut(member_count.checked_sub(1)?)?.1.end = end;
        }
        if !sorted {
            self.sort(first_member, begin)?;
        }
        self.members.truncate(first_member);
        self.out.push(b'}');
        Some(())
    }

    /// Sorts the members of the innermost object: those from index `before` on, whose text begins at `begin`.
    fn sort(&mut self, first_member: usize, begin: usize) -> Option<()> {
        let members = self.members.get_mut(first_member..)?;
        members.sort_by(|(a, _), (b, _)| a.cmp(b));
        let repeats = members.windows(2).any(|pair| matches!(pair, [(a, _), (b, _)] if a == b));
        self.moves = self.moves.checked_sub(self.out.len().saturating_sub(begin))?;
        if repeats {
            return None;
        }
        let mut ordered = Vec::with_capacity(self.out.len().saturating_sub(begin));
        for (_, range) in &*members {
            if !ordered.is_empty() {
                ordered.push(b',');
            }
            ordered.extend_from_slice(self.out.get(range.clone())?);
        }
        self.out.truncate(begin);
        self.out.extend_from_slice(&ordered);
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::{build, parse};
    use super::*;
    use crate::memory::DecodeBudget;

    /// The YAML parser's result, if it reports nothing.
    fn by_yaml(text: &str) -> Option<Vec<u8>> {
        let document = parse::document(text, &mut { DecodeBudget::UNLIMITED }).ok()?;
        build::json(&document)
            .ok()
            .filter(|converted| converted.duplicates.is_empty())
            .map(|converted| converted.json)
    }

    fn check(text: &str, converts: bool) {
        let converted = convert(text);
        assert_eq!(converted.is_some(), converts, "{text}");
        if let Some(converted) = converted {
            let text_of = |json: Vec<u8>| String::from_utf8_lossy(&json).into_owned();
            assert_eq!(Some(text_of(converted)), by_yaml(text).map(text_of), "{text}");
        }
    }

    #[test]
    fn fast_path_equals_the_yaml_parser() {
        for text in [
            r#"{}"#,
            r#" [ ] "#,
            r#"[{},{"a":[]},"",null,true,false]"#,
            r#"{"b":1,"a":{"d":[1,{"z":1,"y":2}],"c":"x"},"":0}"#,
            r#"[0,-0,1.0,1.50,-1e3,1E5,18446744073709551615,18446744073709551616,1e400,0.00001,123456789012345]"#,
            r#"{"a":"<&>\" \\ \b\f\n\r\t\u0041\u003c\u00e9\u0000 é 😀 # x: - y","yes":"no","<<":{"a":1}}"#,
            "{\n  \"b\": [\n    1,\n    2\n  ],\n  \"a\": {\n  }\n}\n",
            "{\"a\":\n1\n}",
            r#"{"a" : 1 , "b" :2}"#,
            r#"["2001-01-01","1:30","0x10","~"]"#,
            r#"{"1":1,"true":2,"null":3}"#,
        ] {
            check(text, true);
        }
    }

    #[test]
    fn ambiguous_text_is_left_to_the_yaml_parser() {
        for text in [
            "a: 1",
            "",
            "{a: 1}",
            "{\"a\":1,}",
            "{\"a\":1} x",
            r#"{"a":1,"a":2}"#,
            r#"{"b":1,"a":1,"b":2}"#,
            r#"{"a":"\/"}"#,
            r#"{"a":"\ud83d\ude00"}"#,
            "{\"a\"\n:1}",
            "{\t\"a\":1}",
            "{\"a\":1}\r\n",
            "[\"\u{2028}\"]",
        ] {
            check(text, false);
        }
    }

    #[test]
    fn sorting_work_is_bounded() {
        let deep = format!("{}1{}", r#"{"b":1,"a":"#.repeat(500), "}".repeat(500));
        assert_eq!(convert(&deep), None);
        let wide = format!("{{{}\"a\":1}}", r#""b":{"d":1,"c":2},"#);
        check(&wide, true);
    }
}
