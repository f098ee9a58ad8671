//! PEM blocks (RFC 7468), parsed as leniently as Go's `encoding/pem`. Text between blocks is skipped. Spaces
//! are allowed at the ends of lines and in the data, and blocks may have headers.

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig};

const BEGIN: &[u8] = b"-----BEGIN ";
const END: &[u8] = b"\n-----END ";
const DASHES: &[u8] = b"-----";

/// Go ignores trailing bits that do not form a byte.
const LENIENT: GeneralPurpose =
    GeneralPurpose::new(&STANDARD, GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true));

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Block {
    /// Label of the block, such as `CERTIFICATE`.
    pub(crate) label: String,
    /// True if the block starts with lines of the form `Key: value`.
    pub(crate) has_headers: bool,
    pub(crate) bytes: Vec<u8>,
}

/// Iterates over the blocks of a text, in order. Linear time: every END line is visited once, and the text
/// before it is searched for its BEGIN once.
pub(crate) fn blocks(mut text: &[u8]) -> impl Iterator<Item = Block> {
    std::iter::from_fn(move || {
        while let Some(at) = find(text, END) {
            let before = text.get(..at)?;
            let rest = text.get(at + END.len()..)?;
            text = rest;
            if let Some((block, rest)) = block(before, rest) {
                text = rest;
                return Some(block);
            }
        }
        None
    })
}

/// Parses the block between the last BEGIN in `before` and the END that precedes `after`. Also returns the
/// remaining text.
fn block<'t>(before: &[u8], after: &'t [u8]) -> Option<(Block, &'t [u8])> {
    let begin = before.windows(BEGIN.len()).rposition(|window| window == BEGIN)?;
    if begin > 0 && before.get(begin - 1) != Some(&b'\n') {
        return None;
    }
    let (label, body) = line(before.get(begin + BEGIN.len()..)?);
    let label = label.strip_suffix(DASHES)?;
    let (end, rest) = line(after.strip_prefix(label)?.strip_prefix(DASHES)?);
    let label = String::from_utf8_lossy(label).into_owned();
    let (has_headers, bytes) = data(body.unwrap_or_default())?;
    let block = Block { label, has_headers, bytes };
    end.is_empty().then_some((block, rest.unwrap_or_default()))
}

/// Decodes the data behind the headers. The boolean is true if there are headers. A header needs a line after
/// it.
fn data(mut body: &[u8]) -> Option<(bool, Vec<u8>)> {
    let mut has_headers = false;
    loop {
        let (first, rest) = line(body);
        if !first.contains(&b':') {
            break;
        }
        has_headers = true;
        body = rest?;
    }
    let text: Vec<u8> = body.iter().copied().filter(|b| !b" \t\r\n".contains(b)).collect();
    LENIENT.decode(text).ok().map(|bytes| (has_headers, bytes))
}

/// Returns the first line without its end and trailing spaces. Also returns the remaining text if the line
/// had an end.
fn line(text: &[u8]) -> (&[u8], Option<&[u8]>) {
    let mut halves = text.splitn(2, |b| *b == b'\n');
    let first = halves.next().unwrap_or_default();
    let rest = halves.next();
    let first = if rest.is_some() { first.strip_suffix(b"\r").unwrap_or(first) } else { first };
    let end = first.iter().rposition(|b| !b" \t".contains(b)).map_or(0, |at| at + 1);
    (first.get(..end).unwrap_or_default(), rest)
}

fn find(text: &[u8], needle: &[u8]) -> Option<usize> {
    text.windows(needle.len()).position(|window| window == needle)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[(&str, &[u8])]) {
        let actual: Vec<Block> = blocks(text.as_bytes()).collect();
        let actual: Vec<(&str, &[u8])> =
            actual.iter().map(|b| (b.label.as_str(), b.bytes.as_slice())).collect();
        assert_eq!(actual, expected, "{text}");
    }

    #[test]
    fn blocks_are_found_among_other_text() {
        check("-----BEGIN A-----\nAQID\n-----END A-----\n", &[("A", &[1, 2, 3])]);
        check("x\n-----BEGIN A B-----  \r\nAQ\r\nID \r\n-----END A B-----", &[("A B", &[1, 2, 3])]);
        let two = "-----BEGIN A-----\nAQ==\n-----END A-----\ntext\n-----BEGIN B-----\n-----END B-----\n";
        check(two, &[("A", &[1]), ("B", &[])]);
        check("-----BEGIN A-----\nK: v\nL: w\n\nAQ==\n-----END A-----\n", &[("A", &[1])]);
        check("-----BEGIN A-----\n-----BEGIN B-----\nAR==\n-----END B-----\n", &[("B", &[1])]);
    }

    #[test]
    fn headers_are_detected() {
        let check = |text: &str, expected: bool| {
            let actual: Vec<bool> = blocks(text.as_bytes()).map(|block| block.has_headers).collect();
            assert_eq!(actual, [expected], "{text}");
        };
        check("-----BEGIN A-----\nAQ==\n-----END A-----", false);
        check("-----BEGIN A-----\nK: v\n\nAQ==\n-----END A-----", true);
    }

    #[test]
    fn unmatched_markers_take_linear_time() {
        let beginnings = "-----BEGIN A-----\n".repeat(200_000);
        check(&beginnings, &[]);
        check(&(beginnings + "AQ==\n-----END A-----\n"), &[("A", &[1])]);
        check(&"-----BEGIN A-----\n!\n-----END A-----\n".repeat(100_000), &[]);
        check(&"\n-----END A-----".repeat(200_000), &[]);
    }

    #[test]
    fn malformed_blocks_are_skipped() {
        for text in [
            "",
            "AQID",
            "x-----BEGIN A-----\nAQ==\n-----END A-----\n",
            "-----BEGIN A-----\nAQ==\n-----END B-----\n",
            "-----BEGIN A----\nAQ==\n-----END A-----\n",
            "-----BEGIN A-----\n!\n-----END A-----\n",
            "-----BEGIN A-----\nAQ==\n-----END A----- x\n",
            "-----BEGIN A-----\nK: v\n-----END A-----\n",
            "-----BEGIN A-----\nAQ==-----END A-----\n",
        ] {
            check(text, &[]);
        }
        let second = "-----BEGIN A-----\n!\n-----END A-----\n-----BEGIN B-----\nAQ==\n-----END B-----\n";
        check(second, &[("B", &[1])]);
    }
}
