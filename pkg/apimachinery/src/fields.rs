//! Field selectors: `metadata.name=a,spec.nodeName!=b`, with `\` escaping
//! `\`, `,` and `=` in values. Parsing and texts are upstream's
//! (`apimachinery/pkg/fields`).

use std::borrow::Cow;
use std::fmt::{self, Display, Write};
use thiserror::Error;

/// Why a text is no field selector, in upstream's words.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ParseError {
    /// A term without an operator.
    #[error("invalid selector: '{selector}'; can't understand '{term}'")]
    Term {
        /// The whole text.
        selector: String,
        /// The term at fault.
        term: String,
    },
    /// A backslash before anything but `\`, `,`, `=`.
    #[error("invalid field selector: invalid escape sequence: {0}")]
    Escape(String),
    /// A bare `=` in a value. Upstream prints its code point.
    #[error("invalid field selector: unescaped character in value: {}", u32::from(*.0))]
    Unescaped(char),
}

/// Whether the field has to be equal to the value or different from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operator {
    /// `=` and `==`
    Equals,
    /// `!=`
    NotEquals,
}

/// One term of a selector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    /// The label of the field, such as `metadata.name`.
    pub field: String,
    /// The relation.
    pub operator: Operator,
    /// The value without escapes.
    pub value: String,
}

/// A conjunction of terms, in the order of their texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector {
    terms: Vec<Requirement>,
}

/// Parses a selector. The empty text selects everything, and so do terms of an
/// empty field and an empty value.
///
/// # Errors
/// See [`ParseError`].
pub fn parse(text: &str) -> Result<Selector, ParseError> {
    let mut parts = split_terms(text);
    parts.sort_unstable();
    let parts = parts.into_iter().filter(|part| !part.is_empty());
    let mut terms = parts.map(|part| parse_term(text, part)).collect::<Result<Vec<_>, _>>()?;
    terms.retain(|term| !term.field.is_empty() || !term.value.is_empty());
    Ok(Selector { terms })
}

impl Selector {
    /// The selector that matches every object.
    pub const fn everything() -> Self {
        Self { terms: Vec::new() }
    }

    /// A selector of these terms.
    pub fn new(terms: Vec<Requirement>) -> Self {
        Self { terms }
    }

    /// A selector of the one term `field=value`.
    pub fn equals(field: &str, value: &str) -> Self {
        let (field, value) = (field.to_owned(), value.to_owned());
        Self::new(vec![Requirement { field, operator: Operator::Equals, value }])
    }

    /// True if every object matches.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// The terms.
    pub fn requirements(&self) -> &[Requirement] {
        &self.terms
    }

    /// Whether an object matches; `lookup` returns the value of a field. A
    /// missing field counts as empty.
    pub fn matches<'v>(&self, lookup: impl Fn(&str) -> Option<&'v str>) -> bool {
        self.terms.iter().all(|term| {
            let equal = lookup(&term.field).unwrap_or_default() == term.value;
            equal == (term.operator == Operator::Equals)
        })
    }

    /// The value that the field must be equal to, if the selector says so.
    pub fn requires_exact_match(&self, field: &str) -> Option<&str> {
        let exact = |term: &&Requirement| term.operator == Operator::Equals && term.field == field;
        self.terms.iter().find(exact).map(|term| term.value.as_str())
    }

    /// The same selector over other field labels or values: `convert` maps
    /// each pair, for example from the labels of one API version to another.
    /// Terms that become an empty label with an empty value are dropped.
    ///
    /// # Errors
    /// The first one of `convert`, for example for an unsupported label.
    pub fn transform<E>(
        self,
        mut convert: impl FnMut(&str, &str) -> Result<(String, String), E>,
    ) -> Result<Self, E> {
        let mut terms = Vec::with_capacity(self.terms.len());
        for term in self.terms {
            let (field, value) = convert(&term.field, &term.value)?;
            if !field.is_empty() || !value.is_empty() {
                terms.push(Requirement { field, operator: term.operator, value });
            }
        }
        Ok(Self { terms })
    }
}

/// The text, which parses to the same terms; in another order if `==` or escapes decided about theirs.
impl Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, term) in self.terms.iter().enumerate() {
            if index > 0 {
                f.write_char(',')?;
            }
            let operator = match term.operator {
                Operator::Equals => "=",
                Operator::NotEquals => "!=",
            };
            write!(f, "{}{operator}{}", term.field, escape(&term.value))?;
        }
        Ok(())
    }
}

/// Escapes a literal value for use in a selector.
pub fn escape(value: &str) -> Cow<'_, str> {
    if !value.contains(['\\', ',', '=']) {
        return Cow::Borrowed(value);
    }
    let mut out = String::with_capacity(value.len().saturating_add(4));
    for c in value.chars() {
        if matches!(c, '\\' | ',' | '=') {
            out.push('\\');
        }
        out.push(c);
    }
    Cow::Owned(out)
}

/// The literal value behind an escaped one.
///
/// # Errors
/// An unknown or unfinished escape, or a bare `,` or `=`.
pub fn unescape(value: &str) -> Result<String, ParseError> {
    let mut out = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(escaped @ ('\\' | ',' | '=')) => out.push(escaped),
                Some(other) => return Err(ParseError::Escape(format!("\\{other}"))),
                None => return Err(ParseError::Escape("\\".to_owned())),
            },
            ',' | '=' => return Err(ParseError::Unescaped(c)),
            c => out.push(c),
        }
    }
    Ok(out)
}

/// Splits at commas that no backslash precedes.
fn split_terms(text: &str) -> Vec<&str> {
    let mut escaped = false;
    text.split(|c| {
        let delimiter = c == ',' && !escaped;
        escaped = c == '\\' && !escaped;
        delimiter
    })
    .collect()
}

fn parse_term(selector: &str, term: &str) -> Result<Requirement, ParseError> {
    let (field, operator, value) = split_term(term)
        .ok_or_else(|| ParseError::Term { selector: selector.to_owned(), term: term.to_owned() })?;
    Ok(Requirement { field: field.to_owned(), operator, value: unescape(value)? })
}

/// Splits at the first operator; the field knows no escapes.
fn split_term(term: &str) -> Option<(&str, Operator, &str)> {
    let (field, after) = term.split_once('=')?;
    // `a!=b` has its `!=` before the first `=`, unless the `!` belongs to the
    // field: then an earlier `!=` would have contained an earlier `=`.
    if let Some(field) = field.strip_suffix('!') {
        return Some((field, Operator::NotEquals, after));
    }
    Some((field, Operator::Equals, after.strip_prefix('=').unwrap_or(after)))
}

#[cfg(test)]
mod tests;
