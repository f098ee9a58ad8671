//! The blocks of a PEM text (RFC 7468, as Go's `encoding/pem` reads it). What is between them is skipped.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

const BEGIN: &str = "-----BEGIN ";
const END: &str = "-----END ";
const DASHES: &str = "-----";

/// A block: its type, and whether there are headers in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Block<'t> {
    /// The words of its first and last line.
    pub kind: &'t str,
    /// Whether it begins with lines of the form `Key: value`.
    pub has_headers: bool,
}

/// The blocks that are well formed.
pub(super) fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut found = Vec::new();
    let mut lines = text.lines().map(|line| line.trim_end_matches([' ', '\t', '\r']));
    while let Some(line) = lines.next() {
        let Some(kind) = line.strip_prefix(BEGIN).and_then(|rest| rest.strip_suffix(DASHES)) else {
            continue;
        };
        // If the block turns out bad, the next one may begin inside.
        let mut ahead = lines.clone();
        if let Some(has_headers) = body(&mut ahead, kind) {
            found.push(Block { kind, has_headers });
            lines = ahead;
        }
    }
    found
}

/// Reads up to the end of a block; whether it has headers, `None` if it is malformed.
fn body<'t>(lines: &mut impl Iterator<Item = &'t str>, kind: &str) -> Option<bool> {
    let (mut base64, mut has_headers) = (String::new(), false);
    for line in lines {
        if let Some(end) = line.strip_prefix(END) {
            let closed = end.strip_suffix(DASHES) == Some(kind);
            return STANDARD.decode(base64).ok().filter(|_| closed).map(|_| has_headers);
        }
        match base64.is_empty() && line.contains(':') {
            true => has_headers = true,
            false => base64.extend(line.split_ascii_whitespace()),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[(&str, bool)]) {
        let found: Vec<(&str, bool)> =
            blocks(text).iter().map(|block| (block.kind, block.has_headers)).collect();
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
    }
}
