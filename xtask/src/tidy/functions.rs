//! Finds the extent of functions without a parser: comments and literals are blanked out, then braces are
//! matched.

use std::ops::Range;

/// A function and its number of lines, from `fn` to its last brace.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Function {
    pub(crate) name: String,
    /// Line number of `fn`, from 1.
    pub(crate) line: usize,
    pub(crate) lines: usize,
    /// Range of bytes from the name to the last brace.
    pub(crate) range: Range<usize>,
}

/// Returns all functions with a body, including nested ones.
pub(crate) fn functions(source: &str) -> Vec<Function> {
    let code = blank(source);
    let mut list = Vec::new();
    let mut from = 0;
    while let Some(at) = code[from..].find("fn ").map(|at| from + at) {
        from = at + 3;
        let word_starts = at == 0 || !is_word(code.as_bytes()[at - 1]);
        let name: String =
            code[from..].trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        if !word_starts || name.is_empty() {
            continue;
        }
        if let Some(end) = body_end(&code[from..]).map(|end| from + end) {
            let line = 1 + count(&code[..at]);
            list.push(Function { name, line, lines: 1 + count(&code[at..end]), range: from..end });
        }
    }
    list
}

pub(crate) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn count(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'\n').count()
}

/// Returns the end of the body after a signature; `None` without a body (a trait method).
fn body_end(code: &str) -> Option<usize> {
    let mut round = 0usize;
    let mut curly = 0usize;
    for (at, byte) in code.bytes().enumerate() {
        match byte {
            b'(' | b'[' if curly == 0 => round += 1,
            b')' | b']' if curly == 0 => round = round.saturating_sub(1),
            b';' if curly == 0 && round == 0 => return None,
            b'{' => curly += 1,
            b'}' => {
                curly = curly.checked_sub(1)?;
                if curly == 0 && round == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

/// Replaces comments, strings and characters with spaces of the same length; lines stay.
pub(crate) fn blank(source: &str) -> String {
    let bytes = source.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let end = literal_end(bytes, at);
        let hidden = &bytes[at..end];
        out.extend(hidden.iter().map(|byte| if *byte == b'\n' { b'\n' } else { b' ' }));
        at = end;
        if hidden.is_empty() {
            out.push(if bytes[at].is_ascii() { bytes[at] } else { b'_' });
            at += 1;
        }
    }
    String::from_utf8(out).unwrap_or_default()
}

/// Returns the end of the comment or literal that starts at `at`; `at` if none does.
fn literal_end(bytes: &[u8], at: usize) -> usize {
    let rest = &bytes[at..];
    let after_word = at > 0 && is_word(bytes[at - 1]);
    let length = match rest {
        [b'/', b'/', ..] => rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len()),
        [b'/', b'*', ..] => block_comment(rest),
        [b'"', ..] => quoted(rest, b'"'),
        [b'r', b'"' | b'#', ..] if !after_word => raw_string(rest, 1),
        [b'b' | b'c', b'r', b'"' | b'#', ..] if !after_word => raw_string(rest, 2),
        // A lifetime has no closing quote after one character.
        [b'\'', b'\\', ..] => quoted(rest, b'\''),
        [b'\'', ..] => character(rest),
        _ => 0,
    };
    at + length
}

fn block_comment(rest: &[u8]) -> usize {
    let mut depth = 0usize;
    let mut at = 0;
    while at < rest.len() {
        match &rest[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    rest.len()
}

fn quoted(rest: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while at < rest.len() {
        match rest[at] {
            b'\\' => at += 1,
            byte if byte == quote => return at + 1,
            _ => {}
        }
        at += 1;
    }
    rest.len()
}

/// Returns the length of `r"…"` or `r#"…"#`; 0 for a raw identifier (`r#fn`).
fn raw_string(rest: &[u8], prefix: usize) -> usize {
    let hashes = rest[prefix..].iter().take_while(|byte| **byte == b'#').count();
    let open = prefix + hashes;
    if rest.get(open) != Some(&b'"') {
        return 0;
    }
    let close: Vec<u8> = std::iter::once(b'"').chain(std::iter::repeat_n(b'#', hashes)).collect();
    let body = &rest[open + 1..];
    let end = body.windows(close.len()).position(|window| window == close);
    end.map_or(rest.len(), |end| open + 1 + end + close.len())
}

/// Returns the length of `'c'` for a character of any width; 0 for a lifetime.
fn character(rest: &[u8]) -> usize {
    let close = rest.iter().skip(2).take(4).position(|byte| *byte == b'\'').map(|at| at + 2);
    match close {
        Some(close) if std::str::from_utf8(&rest[1..close]).is_ok_and(|text| text.chars().count() == 1) => {
            close + 1
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(source: &str, expected: &[(&str, usize, usize)]) {
        let actual = functions(source);
        let actual: Vec<_> = actual.iter().map(|f| (f.name.as_str(), f.line, f.lines)).collect();
        assert_eq!(actual, expected, "{source}");
    }

    #[test]
    fn functions_span_from_fn_to_last_brace() {
        check("fn a() {}", &[("a", 1, 1)]);
        check("\npub async fn a(\n    x: u8,\n) -> u8 {\n    x\n}\n", &[("a", 2, 5)]);
        check("fn a() {\n    fn b() {\n    }\n}", &[("a", 1, 4), ("b", 2, 2)]);
        check(
            "impl X {\n    fn a(&self) { if x { y } }\n    const fn b<'a>(x: &'a [u8; 2]) {\n    }\n}",
            &[("a", 2, 1), ("b", 3, 2)],
        );
    }

    #[test]
    fn function_lookalikes_are_ignored() {
        check("trait X { fn a(&self) -> [u8; 3]; }", &[]);
        check("type X = fn (u8) -> u8; struct Y { f: fn(u8) }", &[]);
        check("// fn a() {\n/* fn b() { /* } */ */ let s = \"fn c() {\"; let often = 1;", &[]);
        check("let s = r#\"fn a() { \" }\"#; let r#fn = 1;", &[]);
    }

    #[test]
    fn braces_in_literals_do_not_count() {
        let literals = [
            "'{'",
            "'\\''",
            "\"}\"",
            "\"\\\"}\"",
            "r\"}\"",
            "r##\"}\"#}\"##",
            "b'}'",
            "b\"}\"",
            "'é'",
            "'a: {}",
        ];
        for literal in literals {
            check(&format!("fn a() {{\n{literal};\n}}\n}}"), &[("a", 1, 3)]);
        }
    }
}
