//! Kubernetes' JSONPath, compatible with `client-go/util/jsonpath`. Printer columns and selectable fields of
//! custom resources use it. It is a separate dialect. Its oddities are kept because existing CRDs rely on
//! them: `[]` is the first element, `..*` is not a path, and `['a.b']` is two names.
//!
//! Absent names select nothing, as in upstream's server (`AllowMissingKeys`). Loops (`range` and `end`) are
//! parsed but select nothing: upstream's loops modify the path while it runs, so a second object gets a
//! different result.

mod compare;
mod evaluate;
mod parse;
mod selected_value;
#[cfg(test)]
mod tests;
mod unquote;

pub use evaluate::{EvaluationBudget, Failure};
pub use parse::ParseError;
pub use selected_value::SelectedValue;

use jsontree::Object;

/// Parsed template: text, and actions in braces.
#[derive(Debug, Clone, PartialEq)]
pub struct JsonPath {
    parts: Vec<Node>,
}

#[derive(Debug, Clone, PartialEq)]
enum Node {
    /// Expression in braces.
    Action(Vec<Node>),
    /// Text outside of braces, or in quotes.
    Text(Box<str>),
    /// A member of each value.
    Field(Box<str>),
    /// Elements of each list.
    Slice(Slice),
    /// Elements of each list that match a condition.
    Filter(Box<Filter>),
    Int(i64),
    Float(f64),
    Bool(bool),
    /// Members or elements of each value.
    Wildcard,
    /// Recursive descent: each value and everything in it, except leaves.
    Recursive,
    /// Results of several paths.
    Union(Vec<Vec<Node>>),
    /// Keyword. All known ones start or end loops.
    Identifier(Box<str>),
}

/// `[first:end:step]`
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Slice {
    first: Option<i64>,
    end: Option<i64>,
    /// True without a colon: `end` follows from `first`.
    single: bool,
    step: Option<i64>,
}

/// `[?(left operator right)]`
#[derive(Debug, Clone, PartialEq)]
struct Filter {
    left: Vec<Node>,
    /// `None` checks only that `left` selects something.
    comparison: Option<(Box<str>, Vec<Node>)>,
}

impl JsonPath {
    /// Parses a template, such as `{.spec.replicas}`, in time linear in its length.
    ///
    /// # Errors
    /// Upstream's errors, and an error for more than [`STEPS_MAX`](Self::STEPS_MAX) steps.
    pub fn parse(template: &str) -> Result<Self, ParseError> {
        Ok(JsonPath { parts: parse::template(template)? })
    }

    /// Parses a path without braces, as in CRDs.
    ///
    /// # Errors
    /// The errors of [`parse`](Self::parse).
    pub fn of(path: &str) -> Result<Self, ParseError> {
        Self::parse(&["{", path, "}"].concat())
    }

    /// Limit of steps in a path. Real paths are far shorter; the limit bounds a path's memory.
    pub const STEPS_MAX: usize = 1_000;

    /// Returns the value that a printer shows: the first one that the first part selects.
    ///
    /// # Errors
    /// Any part fails, also a part after the first one.
    pub fn first<'a>(
        &'a self,
        object: &'a Object,
        work: &mut EvaluationBudget,
    ) -> Result<Option<SelectedValue<'a>>, Failure> {
        let mut first = None;
        for (at, part) in self.parts.iter().enumerate() {
            let values = evaluate::of_part(part, object, work)?;
            if at == 0 {
                first = values.first().copied();
            }
        }
        Ok(first)
    }

    /// Returns the values that each part selects, in order.
    ///
    /// # Errors
    /// A value has the wrong type for a step, or the work exceeds the budget of `work`.
    pub fn find<'a>(
        &'a self,
        object: &'a Object,
        work: &mut EvaluationBudget,
    ) -> Result<Vec<Vec<SelectedValue<'a>>>, Failure> {
        self.parts.iter().map(|part| Ok(evaluate::of_part(part, object, work)?.into_vec())).collect()
    }
}
