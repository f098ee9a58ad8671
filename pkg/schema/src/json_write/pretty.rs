//! Indented JSON, for people with curl.

use super::DEPTH_MAX;
use super::string::plain_len;

/// Appends compact JSON with two spaces of indentation in the layout of Go's `json.Indent`: empty objects and
/// arrays stay on one line. Lines below [`DEPTH_MAX`] levels are not indented further, because the spaces
/// would exceed the object's size many times. `json` must be valid.
pub fn indent(json: &[u8], out: &mut Vec<u8>) {
    out.reserve(json.len() * 2);
    Indenter::default().push(json, out);
}

/// Indents JSON like [`indent`], in chunks of arbitrary boundaries.
#[derive(Debug, Default)]
pub struct Indenter {
    depth: usize,
    /// True if the last byte was an opening bracket, whose content is not yet available.
    after_opening_bracket: bool,
    /// The state within a string at the end of the last chunk.
    string: Option<StringState>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StringState {
    Text,
    /// After a backslash.
    Escape,
}

impl Indenter {
    /// Appends the next chunk.
    pub fn push(&mut self, json: &[u8], out: &mut Vec<u8>) {
        let mut rest = json;
        loop {
            if let Some(within) = self.string {
                let (part, within) = string_part(rest, within);
                let (string, after) = rest.split_at_checked(part).unwrap_or((rest, &[]));
                out.extend_from_slice(string);
                (rest, self.string) = (after, within);
            }
            let Some((&byte, after)) = rest.split_first() else { return };
            rest = after;
            self.byte(byte, out);
        }
    }

    /// Appends a byte outside of strings, or an opening quote. White space, such as the final newline of compact
    /// JSON, is omitted.
    fn byte(&mut self, byte: u8, out: &mut Vec<u8>) {
        if byte.is_ascii_whitespace() {
            return;
        }
        let opened = std::mem::take(&mut self.after_opening_bracket);
        let closes = matches!(byte, b'}' | b']');
        match (opened, closes) {
            (true, false) => {
                self.depth += 1;
                new_line(self.depth, out);
            }
            (false, true) => {
                self.depth = self.depth.saturating_sub(1);
                new_line(self.depth, out);
            }
            (true, true) | (false, false) => {}
        }
        out.push(byte);
        match byte {
            b'{' | b'[' => self.after_opening_bracket = true,
            b',' => new_line(self.depth, out),
            b':' => out.push(b' '),
            b'"' => self.string = Some(StringState::Text),
            _ => {}
        }
    }
}

fn new_line(depth: usize, out: &mut Vec<u8>) {
    out.push(b'\n');
    out.extend(std::iter::repeat_n(b' ', depth.min(DEPTH_MAX) * 2));
}

/// Length of the part of `rest` that belongs to a string in state `within`, including its closing quote, and
/// the state at its end; `None` if the string has ended.
fn string_part(rest: &[u8], mut within: StringState) -> (usize, Option<StringState>) {
    let mut at = 0;
    loop {
        if within == StringState::Text {
            at += plain_len(rest.get(at..).unwrap_or_default());
        }
        let Some(byte) = rest.get(at) else { return (rest.len(), Some(within)) };
        at += 1;
        within = match (within, byte) {
            (StringState::Text, b'"') => return (at, None),
            (StringState::Text, b'\\') => StringState::Escape,
            (StringState::Text | StringState::Escape, _) => StringState::Text,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the text as one chunk, and split at every position.
    #[test]
    fn compact_json_is_laid_out_in_lines() {
        let check = |json: &str, expected: &str| {
            for cut in 0..=json.len() {
                let mut out = Vec::new();
                let mut indenter = Indenter::default();
                let (head, tail) = json.as_bytes().split_at(cut);
                indenter.push(head, &mut out);
                indenter.push(tail, &mut out);
                assert_eq!(String::from_utf8(out).unwrap(), expected, "cut at {cut}");
            }
        };
        check("{}", "{}");
        check("1", "1");
        check(
            r#"{"a":[],"b":{"c":[1,"x,\"{\\","ä"],"d":{}}}"#,
            "{\n  \"a\": [],\n  \"b\": {\n    \"c\": [\n      1,\n      \"x,\\\"{\\\\\",\n      \"ä\"\n    ],\n    \"d\": {}\n  }\n}",
        );
    }
}
