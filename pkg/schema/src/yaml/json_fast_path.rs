//! Fast path for JSON text, which is also YAML, without the YAML parser. The parser keeps everything between
//! two brackets in tokens of a hundred bytes each, because a whole collection may be a key.

use std::borrow::Cow;
use std::ops::Range;

use super::Error;
use super::build::write_scalar;
use super::resolve::plain;
use crate::json::scan::Scanner;
use crate::json_write::write_string;

/// Maximum average number of times that each byte may be moved to sort members.
const MOVES_MAX: usize = 16;

/// Maximum number of characters from the start of a simple key to its colon, as in upstream's YAML parser.
const SIMPLE_KEY_CHARS_MAX: usize = 1024;

/// The JSON that [`super::to_json`] would return, or its error about a key; `None` if the text is not JSON, or if
/// YAML would read it differently or report anything else.
pub(super) fn convert(text: &str) -> Option<Result<Vec<u8>, Error>> {
    if !text.trim_start_matches([' ', '\n']).starts_with(['{', '[']) || !reads_alike(text) {
        return None;
    }
    let mut writer = Writer {
        text,
        key_error: None,
        scan: Scanner::new(text.as_bytes()),
        out: Vec::with_capacity(text.len()),
        members: Vec::new(),
        moves: text.len().saturating_mul(MOVES_MAX),
    };
    let written = writer.value();
    if let Some(error) = writer.key_error {
        return Some(Err(error));
    }
    written?;
    writer.scan.end().ok()?;
    Some(Ok(writer.out))
}

/// True if all characters of the text have the same meaning in JSON and YAML.
fn reads_alike(text: &str) -> bool {
    let strange = |c: char| matches!(c, '\t' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}' | '\u{feff}');
    !text.chars().any(strange) && escapes_read_alike(text.as_bytes())
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

struct Writer<'a> {
    text: &'a str,
    /// Error about a key, which ends the conversion.
    key_error: Option<Error>,
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
        loop {
            let before = self.scan.position();
            let Some(name) = self.scan.next_member(first).ok()? else { break };
            self.check_key(before)?;
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

    /// Checks that the key after the position `before` is a simple key of YAML: it and its colon are on one line and
    /// not too far apart. Upstream then finds a value without a key.
    fn check_key(&mut self, before: usize) -> Option<()> {
        let key = self.text.get(before..self.scan.position())?;
        let key = key.get(key.find('"')?..)?.strip_suffix(':')?;
        let is_short = key.len() <= SIMPLE_KEY_CHARS_MAX || key.chars().count() <= SIMPLE_KEY_CHARS_MAX;
        if is_short && !key.contains('\n') {
            return Some(());
        }
        let line = self.text.get(..self.scan.position())?.matches('\n').count();
        let line = if line == 0 { String::new() } else { format!("line {line}: ") };
        self.key_error = Some(Error::Text(format!("yaml: {line}did not find expected ',' or '}}'")));
        None
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
        if let Some(Ok(converted)) = converted {
            let text_of = |json: Vec<u8>| String::from_utf8_lossy(&json).into_owned();
            assert_eq!(Some(text_of(converted)), by_yaml(text).map(text_of), "{text}");
        }
    }

    #[test]
    fn keys_are_short_and_on_one_line() {
        let check = |text: String, expected: Option<&str>| {
            let error = convert(&text).and_then(Result::err).map(|error| error.to_string());
            assert_eq!(error.as_deref(), expected, "{text}");
        };
        let no_value = "yaml: did not find expected ',' or '}'";
        check(format!("{{\"{}\":1}}", "y".repeat(1022)), None);
        check(format!("{{\"{}\":1}}", "é".repeat(1022)), None);
        check(format!("{{\"{}\":1}}", "y".repeat(1023)), Some(no_value));
        check(format!("{{\"a\"{}:1}}", " ".repeat(1100)), Some(no_value));
        check("{\"a\"\n:1}".to_owned(), Some("yaml: line 1: did not find expected ',' or '}'"));
        check(format!("{{\"a\":\"{}\"}}", "y".repeat(3000)), None);
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
        assert!(convert(&deep).is_none());
        let wide = format!("{{{}\"a\":1}}", r#""b":{"d":1,"c":2},"#);
        check(&wide, true);
    }
}
