//! Paths to fields, `.spec.a` or `['spec'].a`, and what they lead to in a schema.

use super::subschemas::property;
use crate::tree::{child, is_set};
use schema::object::Object;

/// Whether steps may be written in brackets.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Brackets {
    /// `['a']` is a step too.
    Allowed,
    /// Only `.a` is.
    Forbidden,
}

const NO_FIELD: &str = "does not refer to a valid field";
const END: &str = "unexpected end of JSON path";

/// The steps of a path, and the schema at its end; `None` where a map of anything is. The error is what is
/// wrong with the path.
pub(super) fn resolve<'o>(
    path: &str,
    schema: &'o Object,
    brackets: Brackets,
) -> Result<(Vec<String>, Option<&'o Object>), String> {
    let (mut steps, mut at) = (Vec::new(), Some(schema));
    let mut rest = path;
    while let Some(token) = next(&mut rest) {
        let step = match token {
            "[" if brackets == Brackets::Forbidden => return Err("array notation is not allowed".to_owned()),
            "[" => {
                let quoted = next(&mut rest).ok_or(END)?;
                let inner = quoted.strip_prefix('\'').and_then(|it| it.strip_suffix('\''));
                let inner = inner.ok_or_else(|| format!("expected single quoted string but got {quoted}"))?;
                unescape(inner)
                    .map_err(|escape| format!("invalid string literal: invalid escape char {escape}"))?
            }
            "." => next(&mut rest).ok_or(END)?.to_owned(),
            other => return Err(format!("expected [ or . but got: {other}")),
        };
        at = follow(at, &step)?;
        steps.push(step);
        if token == "[" {
            match next(&mut rest).ok_or(END)? {
                "]" => {}
                other => return Err(format!("expected ] but got {other}")),
            }
        }
    }
    Ok((steps, at))
}

fn follow<'o>(at: Option<&'o Object>, step: &str) -> Result<Option<&'o Object>, &'static str> {
    let schema = at.ok_or(NO_FIELD)?;
    match child(schema, "properties").is_some_and(|properties| !properties.is_empty()) {
        true => property(schema, step).map(Some).ok_or(NO_FIELD),
        false if is_set(schema, "additionalProperties") => Ok(child(schema, "additionalProperties")),
        false => Err(NO_FIELD),
    }
}

/// Takes the next token: a delimiter, a quoted text, or what is up to the next delimiter.
fn next<'p>(rest: &mut &'p str) -> Option<&'p str> {
    let text = *rest;
    let first = text.chars().next()?;
    let end = match first {
        '.' | '[' | ']' => 1,
        '\'' => {
            let bytes = text.as_bytes();
            let closes = |at: &usize| bytes.get(*at) == Some(&b'\'') && bytes.get(at - 1) != Some(&b'\\');
            (1..bytes.len()).find(closes).map_or(text.len(), |at| at + 1)
        }
        _ => text.find(['.', '[', ']']).unwrap_or(text.len()),
    };
    let (token, after) = text.split_at_checked(end)?;
    *rest = after;
    Some(token)
}

/// Resolves escapes; the error is one that there is not.
fn unescape(text: &str) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        out.push(match chars.next() {
            Some('a') => '\u{7}',
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('v') => '\u{b}',
            Some('\'') => '\'',
            Some('\\') | None => '\\',
            Some(other) => return Err(format!("\\{other}")),
        });
    }
    Ok(out)
}
