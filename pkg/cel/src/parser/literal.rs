//! Values of literals.

use std::borrow::Cow;

/// Parses an integer literal, decimal or hexadecimal, with its sign.
pub(super) fn int(negative: bool, text: &str) -> Option<i64> {
    let magnitude = magnitude(text)?;
    if negative { 0i64.checked_sub_unsigned(magnitude) } else { i64::try_from(magnitude).ok() }
}

/// Parses a literal such as `1u`.
pub(super) fn uint(text: &str) -> Option<u64> {
    magnitude(&text[..text.len() - 1])
}

fn magnitude(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// Parses a floating-point literal; `None` if it is out of range.
pub(super) fn double(negative: bool, text: &str) -> Option<f64> {
    let value: f64 = text.parse().ok()?;
    value.is_finite().then_some(if negative { -value } else { value })
}

/// Returns the value of a string literal with resolved escapes.
pub(super) fn string(literal: &str) -> Result<Cow<'_, str>, &'static str> {
    let (content, raw) = content(literal);
    let content = normalize_newlines(content);
    if raw || !content.contains('\\') {
        return Ok(content);
    }
    let mut out = String::with_capacity(content.len());
    let mut rest = &content[..];
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let (value, _, tail) = escape(&rest[at + 1..])?;
        out.push(char::from_u32(value).ok_or("invalid unicode code point")?);
        rest = tail;
    }
    out.push_str(rest);
    Ok(out.into())
}

/// Returns the value of a bytes literal. Octal and hexadecimal escapes are bytes; code point escapes are
/// invalid.
pub(super) fn bytes(literal: &str) -> Result<Vec<u8>, &'static str> {
    let (content, raw) = content(&literal[1..]);
    let content = normalize_newlines(content);
    if raw {
        return Ok(content.into_owned().into_bytes());
    }
    let mut out = Vec::with_capacity(content.len());
    let mut rest = &content[..];
    while let Some(at) = rest.find('\\') {
        out.extend_from_slice(&rest.as_bytes()[..at]);
        let (value, code_point, tail) = escape(&rest[at + 1..])?;
        if code_point {
            return Err(UNESCAPABLE);
        }
        out.push(value as u8);
        rest = tail;
    }
    out.extend_from_slice(rest.as_bytes());
    Ok(out)
}

const UNESCAPABLE: &str = "unable to unescape string";

/// Returns the text between the quotes, and true for a raw literal.
fn content(literal: &str) -> (&str, bool) {
    let quoted = literal.trim_start_matches(['r', 'R']);
    let quotes =
        if quoted.len() >= 6 && (quoted.starts_with("'''") || quoted.starts_with("\"\"\"")) { 3 } else { 1 };
    (&quoted[quotes..quoted.len() - quotes], quoted.len() < literal.len())
}

fn normalize_newlines(text: &str) -> Cow<'_, str> {
    if text.contains('\r') { text.replace("\r\n", "\n").replace('\r', "\n").into() } else { text.into() }
}

/// Parses an escape after its backslash. Returns its value, true if it is a code point (`\u`, `\U`), and the
/// rest of the text.
fn escape(text: &str) -> Result<(u32, bool, &str), &'static str> {
    let mut chars = text.chars();
    let kind = chars.next().ok_or(UNESCAPABLE)?;
    let digits = |start: usize, end: usize, radix: u32| {
        let value = text.get(start..end).and_then(|digits| u32::from_str_radix(digits, radix).ok());
        Ok((value.ok_or(UNESCAPABLE)?, matches!(kind, 'u' | 'U'), &text[end..]))
    };
    let value = match kind {
        'a' => 0x07,
        'b' => 0x08,
        'f' => 0x0c,
        'n' => 0x0a,
        'r' => 0x0d,
        't' => 0x09,
        'v' => 0x0b,
        '\\' | '\'' | '"' | '`' | '?' => kind as u32,
        'x' | 'X' => return digits(1, 3, 16),
        'u' => return digits(1, 5, 16),
        'U' => return digits(1, 9, 16),
        '0'..='3' => return digits(0, 3, 8),
        _ => return Err(UNESCAPABLE),
    };
    Ok((value, false, chars.as_str()))
}
