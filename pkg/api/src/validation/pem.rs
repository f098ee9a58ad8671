//! The blocks of a PEM text (RFC 7468, as Go's `encoding/pem` reads it). What is between them is skipped.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

const BEGIN: &str = "-----BEGIN ";
const END: &str = "-----END ";
const DASHES: &str = "-----";

/// A block: its type, whether there are headers in it, and what it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Block<'t> {
    /// The words of its first and last line.
    pub kind: &'t str,
    /// Whether it begins with lines of the form `Key: value`.
    pub has_headers: bool,
    /// The bytes, decoded.
    pub bytes: Vec<u8>,
}

/// The blocks that are well formed, in one pass: a block that turns out bad ends where the next begins.
pub(super) fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut found = Vec::new();
    let mut open: Option<Open<'_>> = None;
    for line in text.lines().map(|line| line.trim_end_matches([' ', '\t', '\r'])) {
        if let Some(rest) = line.strip_prefix(BEGIN) {
            open = rest.strip_suffix(DASHES).map(|kind| Open {
                kind,
                has_headers: false,
                base64: String::new(),
            });
        } else if let Some(end) = line.strip_prefix(END) {
            found.extend(open.take().and_then(|open| open.close(end)));
        } else if let Some(open) = &mut open {
            open.line(line);
        }
    }
    found
}

/// A block whose end has not been found yet.
struct Open<'t> {
    kind: &'t str,
    has_headers: bool,
    base64: String,
}

impl<'t> Open<'t> {
    fn line(&mut self, line: &str) {
        match self.base64.is_empty() && line.contains(':') {
            true => self.has_headers = true,
            false => self.base64.extend(line.split_ascii_whitespace()),
        }
    }

    /// The block, if its last line names it and what it holds is base64.
    fn close(self, end: &str) -> Option<Block<'t>> {
        let closed = end.strip_suffix(DASHES) == Some(self.kind);
        let bytes = STANDARD.decode(self.base64).ok().filter(|_| closed)?;
        Some(Block { kind: self.kind, has_headers: self.has_headers, bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[(&str, bool)]) {
        let blocks = blocks(text);
        let found: Vec<(&str, bool)> = blocks.iter().map(|block| (block.kind, block.has_headers)).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn blocks_are_between_their_lines() {
        let block = "-----BEGIN A B-----\nAAAA\nAAAA\n-----END A B-----\n";
        check(block, &[("A B", false)]);
        check(&format!("text\n{block}text\r\n{block}"), &[("A B", false), ("A B", false)]);
        check("-----BEGIN A-----\nK: v\n\nAAAA\n-----END A-----", &[("A", true)]);
        check("-----BEGIN A-----\nAAAA\n-----END B-----", &[]);
        check("-----BEGIN A-----\n!\n-----END A-----", &[]);
        check(&format!("-----BEGIN C-----\n{block}"), &[("A B", false)]);
        check("", &[]);
        assert_eq!(blocks(block)[0].bytes, [0; 6]);
    }

    #[test]
    fn beginnings_without_end_are_read_once() {
        let text = "-----BEGIN A-----\n".repeat(200_000);
        check(&text, &[]);
        check(&(text + "AAAA\n-----END A-----\n"), &[("A", false)]);
    }
}
