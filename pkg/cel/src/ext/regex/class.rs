//! Character classes.

use super::character::{RegexError, character};

/// Translates a bracketed class.
pub(super) fn brackets(text: &str) -> Result<(String, &str), RegexError<'_>> {
    let mut out = "[".to_owned();
    let mut rest = &text[1..];
    if let Some(after) = rest.strip_prefix('^') {
        out.push('^');
        rest = after;
    }
    let mut first = true;
    while first || !rest.starts_with(']') {
        first = false;
        if let Some((translated, after)) = posix(rest)? {
            out.push_str(&translated);
            rest = after;
            continue;
        }
        if let Some((translated, after)) = escape(rest)? {
            out.push_str(&translated);
            rest = after;
            continue;
        }
        let range = rest;
        let (low, after) = one(rest, text)?;
        let (high, after) = match after.strip_prefix('-') {
            Some(behind) if !behind.is_empty() && !behind.starts_with(']') => one(behind, text)?,
            _ => (low, after),
        };
        if high < low {
            return Err(("invalid character class range", &range[..range.len() - after.len()]));
        }
        out.push_str(&format!("\\x{{{:x}}}-\\x{{{:x}}}", u32::from(low), u32::from(high)));
        rest = after;
    }
    out.push(']');
    Ok((out, &rest[1..]))
}

/// Parses one character of a class.
fn one<'a>(rest: &'a str, class: &'a str) -> Result<(char, &'a str), RegexError<'a>> {
    match rest.chars().next() {
        None => Err(("missing closing ]", class)),
        Some('\\') => character(rest),
        Some(c) => Ok((c, &rest[c.len_utf8()..])),
    }
}

/// Translates `\d`, `\pL`, `\p{Greek}` and the like to a form that is valid inside brackets.
pub(super) fn escape(text: &str) -> Result<Option<(String, &str)>, RegexError<'_>> {
    let Some(rest) = text.strip_prefix('\\') else { return Ok(None) };
    let Some(kind) = rest.chars().next() else { return Ok(None) };
    let after = &rest[kind.len_utf8()..];
    let perl = match kind {
        'd' => "0-9",
        'D' => "[^0-9]",
        's' => "\\t\\n\\f\\r ",
        'S' => "[^\\t\\n\\f\\r ]",
        'w' => "0-9A-Za-z_",
        'W' => "[^0-9A-Za-z_]",
        'p' | 'P' => return unicode(text, kind == 'P', after).map(Some),
        _ => return Ok(None),
    };
    Ok(Some((perl.to_owned(), after)))
}

/// Translates a Unicode class: a general category or a script. `rest` follows the `p`.
fn unicode<'a>(text: &'a str, negative: bool, rest: &'a str) -> Result<(String, &'a str), RegexError<'a>> {
    const INVALID_RANGE: &str = "invalid character class range";
    let (name, after) = match rest.strip_prefix('{') {
        Some(braced) => braced.split_once('}').ok_or((INVALID_RANGE, text))?,
        None => rest.split_at(rest.chars().next().map_or(0, char::len_utf8)),
    };
    let shown = &text[..text.len() - after.len()];
    let (negative, name) = match name.strip_prefix('^') {
        Some(name) => (!negative, name),
        None => (negative, name),
    };
    if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_- ".contains(&byte)) {
        return Err((INVALID_RANGE, shown));
    }
    let sign = if negative { 'P' } else { 'p' };
    let candidates = ["gc", "sc"].map(|property| format!("\\{sign}{{{property}={name}}}"));
    let special = matches!(name.to_ascii_lowercase().as_str(), "any" | "ascii" | "assigned");
    let special = special.then(|| format!("\\{sign}{{{name}}}"));
    let known = candidates.into_iter().chain(special).find(|class| regex_syntax::parse(class).is_ok());
    known.map(|class| (class, after)).ok_or((INVALID_RANGE, shown))
}

/// Parses `[:alpha:]` and the like; `None` for other text.
fn posix(text: &str) -> Result<Option<(String, &str)>, RegexError<'_>> {
    let Some((name, rest)) = text.strip_prefix("[:").and_then(|name| name.split_once(":]")) else {
        return Ok(None);
    };
    let (negative, name) = name.strip_prefix('^').map_or((false, name), |name| (true, name));
    let members = match name {
        "alnum" => "0-9A-Za-z",
        "alpha" => "A-Za-z",
        "ascii" => "\\x00-\\x7F",
        "blank" => "\\t ",
        "cntrl" => "\\x00-\\x1F\\x7F",
        "digit" => "0-9",
        "graph" => "!-~",
        "lower" => "a-z",
        "print" => " -~",
        "punct" => "!-/:-@\\[-`\\{-~",
        "space" => "\\t-\\r ",
        "upper" => "A-Z",
        "word" => "0-9A-Za-z_",
        "xdigit" => "0-9A-Fa-f",
        _ => return Err(("invalid character class range", &text[..text.len() - rest.len()])),
    };
    let members = if negative { format!("[^{members}]") } else { members.to_owned() };
    Ok(Some((members, rest)))
}
