//! Field selectors: `metadata.name=a,spec.nodeName!=b`, with `\` escaping
//! `\`, `,` and `=` in values. Parsing and texts are upstream's
//! (`apimachinery/pkg/fields`).

use std::borrow::Cow;
use std::fmt::{self, Display, Write};
use thiserror::Error;

/// Syntax error in a field selector, in upstream's wording.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FieldSelectorError {
    /// A term without an operator.
    #[error("invalid selector: '{selector}'; can't understand '{term}'")]
    Term {
        /// The whole text.
        selector: String,
        /// The invalid term.
        term: String,
    },
    /// A backslash before any character other than `\`, `,`, `=`.
    #[error("invalid field selector: invalid escape sequence: {0}")]
    Escape(String),
    /// A bare `=` in a value. Upstream prints its code point.
    #[error("invalid field selector: unescaped character in value: {}", u32::from(*.0))]
    Unescaped(char),
}

/// Comparison of a field with a value.
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
    /// Field label, such as `metadata.name`.
    pub field: String,
    /// Comparison of the field with `value`.
    pub operator: Operator,
    /// Unescaped value.
    pub value: String,
}

/// A conjunction of terms, sorted by their texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector {
    terms: Vec<Requirement>,
}

/// Parses a selector. The empty text matches everything, and so does a term with an empty field and an empty
/// value.
///
/// # Errors
/// See [`FieldSelectorError`].
pub fn parse(text: &str) -> Result<Selector, FieldSelectorError> {
    let mut parts = split_terms(text);
    parts.sort_unstable();
    let parts = parts.into_iter().filter(|part| !part.is_empty());
    let mut terms = parts.map(|part| parse_term(text, part)).collect::<Result<Vec<_>, _>>()?;
    terms.retain(|term| !term.field.is_empty() || !term.value.is_empty());
    Ok(Selector { terms })
}

impl Selector {
    /// Selector that matches every object.
    pub const fn everything() -> Self {
        Self { terms: Vec::new() }
    }

    /// Creates a selector of these terms, in the given order.
    pub fn new(terms: Vec<Requirement>) -> Self {
        Self { terms }
    }

    /// Selector with the single term `field=value`.
    pub fn equals(field: &str, value: &str) -> Self {
        let field = field.to_owned();
        let value = value.to_owned();
        Self::new(vec![Requirement { field, operator: Operator::Equals, value }])
    }

    /// True if every object matches.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// The terms. All of them must match.
    pub fn requirements(&self) -> &[Requirement] {
        &self.terms
    }

    /// True if an object matches; `lookup` returns the value of a field. A missing field counts as empty.
    pub fn matches<'v>(&self, lookup: impl Fn(&str) -> Option<&'v str>) -> bool {
        self.terms.iter().all(|term| {
            let equal = lookup(&term.field).unwrap_or_default() == term.value;
            equal == (term.operator == Operator::Equals)
        })
    }

    /// Returns the required value of the field, if the selector has one.
    pub fn requires_exact_match(&self, field: &str) -> Option<&str> {
        let exact = |term: &&Requirement| term.operator == Operator::Equals && term.field == field;
        self.terms.iter().find(exact).map(|term| term.value.as_str())
    }

    /// Converts field labels or values: `convert` maps each pair, for example from one API version to
    /// another. Terms that become an empty label with an empty value are dropped.
    ///
    /// # Errors
    /// The first error of `convert`, for example for an unsupported label.
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

/// The text parses to the same terms. Their order can differ if it depends on `==` or escapes.
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

/// Returns the literal value of an escaped one.
///
/// # Errors
/// An unknown or incomplete escape, or a bare `,` or `=`.
pub fn unescape(value: &str) -> Result<String, FieldSelectorError> {
    let mut out = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(escaped @ ('\\' | ',' | '=')) => out.push(escaped),
                Some(other) => return Err(FieldSelectorError::Escape(format!("\\{other}"))),
                None => return Err(FieldSelectorError::Escape("\\".to_owned())),
            },
            ',' | '=' => return Err(FieldSelectorError::Unescaped(c)),
            c => out.push(c),
        }
    }
    Ok(out)
}

/// Splits at commas without a preceding backslash.
fn split_terms(text: &str) -> Vec<&str> {
    let mut escaped = false;
    text.split(|c| {
        let delimiter = c == ',' && !escaped;
        escaped = c == '\\' && !escaped;
        delimiter
    })
    .collect()
}

fn parse_term(selector: &str, term: &str) -> Result<Requirement, FieldSelectorError> {
    let (field, operator, value) = split_term(term)
        .ok_or_else(|| FieldSelectorError::Term { selector: selector.to_owned(), term: term.to_owned() })?;
    Ok(Requirement { field: field.to_owned(), operator, value: unescape(value)? })
}

/// Splits at the first operator; the field has no escapes.
fn split_term(term: &str) -> Option<(&str, Operator, &str)> {
    let (field, value) = term.split_once('=')?;
    // `a!=b` has its `!=` before the first `=`, unless the `!` belongs to the
    // field: then an earlier `!=` would have contained an earlier `=`.
    if let Some(field) = field.strip_suffix('!') {
        return Some((field, Operator::NotEquals, value));
    }
    Some((field, Operator::Equals, value.strip_prefix('=').unwrap_or(value)))
}

#[cfg(test)]
mod tests;
