//! Field paths such as `.spec.a` or `.map['key']`, and their resolution in a schema.

use apimachinery::field::Path;
use jsontree::{Object, Value as Json};

/// Permission for bracketed steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Brackets {
    /// `['a']` is allowed.
    Allowed,
    /// Only `.a` is allowed.
    Forbidden,
}

/// A step of a resolved path.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Step {
    /// Property name or map key.
    pub name: String,
    /// True for a map key.
    pub is_key: bool,
}

/// Result of resolving a path.
#[derive(Clone, Debug)]
pub struct Resolved<'s> {
    /// The steps of the path.
    pub steps: Vec<Step>,
    /// The schema at the path; `None` inside a map of arbitrary values.
    pub schema: Option<&'s Object>,
}

/// An invalid path, in upstream's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// The path ends within a step.
    #[error("unexpected end of JSON path")]
    End,
    /// Brackets where only names are allowed.
    #[error("array notation is not allowed")]
    Brackets,
    /// The text in brackets, which is not quoted.
    #[error("expected single quoted string but got {0}")]
    Unquoted(String),
    /// The text in place of a step.
    #[error("expected [ or . but got: {0}")]
    NoStep(String),
    /// The text in place of a closing bracket.
    #[error("expected ] but got {0}")]
    OpenBracket(String),
    /// The character after a backslash.
    #[error("invalid string literal: invalid escape char \\{0}")]
    Escape(char),
    /// The schema has no such field.
    #[error("does not refer to a valid field")]
    NoField,
}

/// Resolves a path in a schema, like `ValidFieldPath` in upstream's `schema/cel/validation.go`.
///
/// # Errors
/// In upstream's words.
pub fn resolve<'s>(path: &str, schema: &'s Object, brackets: Brackets) -> Result<Resolved<'s>, PathError> {
    let mut to = Resolved { steps: Vec::new(), schema: Some(schema) };
    let mut rest = path;
    while let Some(token) = next(&mut rest) {
        let name = match token {
            "[" if brackets == Brackets::Forbidden => {
                return Err(PathError::Brackets);
            }
            "[" => {
                let quoted = next(&mut rest).ok_or(PathError::End)?;
                let inner = quoted.strip_prefix('\'').and_then(|text| text.strip_suffix('\''));
                let inner = inner.ok_or_else(|| PathError::Unquoted(quoted.to_owned()))?;
                unescape(inner)?
            }
            "." => next(&mut rest).ok_or(PathError::End)?.to_owned(),
            other => return Err(PathError::NoStep(other.to_owned())),
        };
        to.push_step(name)?;
        if token == "[" {
            match next(&mut rest).ok_or(PathError::End)? {
                "]" => {}
                other => return Err(PathError::OpenBracket(other.to_owned())),
            }
        }
    }
    Ok(to)
}

impl Resolved<'_> {
    fn push_step(&mut self, name: String) -> Result<(), PathError> {
        let schema = self.schema.ok_or(PathError::NoField)?;
        let properties = schema.get("properties").and_then(Json::as_object).filter(|all| !all.is_empty());
        let values = schema.get("additionalProperties").filter(|values| !values.is_null());
        self.schema = match (properties, values) {
            (Some(properties), _) => {
                Some(properties.get(&name).and_then(Json::as_object).ok_or(PathError::NoField)?)
            }
            (None, Some(values)) => values.as_object(),
            (None, None) => return Err(PathError::NoField),
        };
        self.steps.push(Step { name, is_key: properties.is_none() });
        Ok(())
    }
}

/// Normalizes a path for error messages; empty if it is empty or invalid.
pub(super) fn normalize(path: &str, schema: &Json) -> String {
    let resolved = schema.as_object().and_then(|schema| resolve(path, schema, Brackets::Allowed).ok());
    resolved.filter(|to| !to.steps.is_empty()).map_or(String::new(), |to| display(&Path::NIL, &to.steps))
}

fn display(path: &Path<'_>, steps: &[Step]) -> String {
    match steps {
        [] => path.to_string(),
        [Step { name, is_key: true }, rest @ ..] => display(&path.key(name), rest),
        [Step { name, is_key: false }, rest @ ..] => display(&path.child(name), rest),
    }
}

/// Takes the next token: a delimiter, a quoted text, or the text up to the next delimiter.
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

/// Resolves escapes.
///
/// # Errors
/// The first unknown escape.
fn unescape(text: &str) -> Result<String, PathError> {
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
            Some(other) => return Err(PathError::Escape(other)),
        });
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_resolve_in_the_schema() {
        let schema = jsontree::json!({"properties": {
            "a": {"properties": {"b.c": {}}},
            "m": {"additionalProperties": {"properties": {"x": {}}}},
            "any": {"additionalProperties": true},
        }});
        for (path, normal) in [
            (".a", "a"),
            (".a['b.c']", "a.b.c"),
            (".m['k'].x", "m[k].x"),
            (".m.k", "m[k]"),
            (".m['it\\'s']", "m[it's]"),
            (".any.k", "any[k]"),
            (".any.k.l", ""),
            (".b", ""),
            ("a", ""),
            (".a[0]", ""),
            (".m['k", ""),
            ("", ""),
        ] {
            assert_eq!(normalize(path, &schema), normal, "{path}");
        }
    }
}
