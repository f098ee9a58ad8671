//! Kubernetes' JSONPath, as `client-go/util/jsonpath` reads and runs it: what printer columns and selectable fields of
//! custom resources are written in. It is a dialect of its own; its oddities (`[]` is the first element, `..*` is no
//! path, `['a.b']` are two names) are kept, because definitions are written against them.
//!
//! Names that an object lacks select nothing, as upstream's server has it (`AllowMissingKeys`). Loops (`range` and
//! `end`) are read and then select nothing: upstream's change the path that they run in, so that no second object gets
//! the same answer.

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

/// A template that was read: text, and actions in braces.
#[derive(Debug, Clone, PartialEq)]
pub struct JsonPath {
    parts: Vec<Node>,
}

/// A step of a path.
#[derive(Debug, Clone, PartialEq)]
enum Node {
    /// What stands in braces.
    Action(Vec<Node>),
    /// Text outside of braces, or in quotes.
    Text(Box<str>),
    /// A member of each value.
    Field(Box<str>),
    /// Elements of each list.
    Slice(Slice),
    /// The elements of each list for which something holds.
    Filter(Box<Filter>),
    Int(i64),
    Float(f64),
    Bool(bool),
    /// Members or elements of each value.
    Wildcard,
    /// Each value and all that is in it, as far as something is in that.
    Recursive,
    /// What each of the paths selects.
    Union(Vec<Vec<Node>>),
    /// A word; all that are known begin or end loops.
    Identifier(Box<str>),
}

/// `[first:end:step]`
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Slice {
    first: Option<i64>,
    end: Option<i64>,
    /// `end` follows from `first`: there is no colon.
    one: bool,
    step: Option<i64>,
}

/// `[?(left operator right)]`
#[derive(Debug, Clone, PartialEq)]
struct Filter {
    left: Vec<Node>,
    /// None asks whether `left` selects anything.
    comparison: Option<(Box<str>, Vec<Node>)>,
}

impl JsonPath {
    /// Reads a template, such as `{.spec.replicas}`. What it takes is linear in its length.
    ///
    /// # Errors
    /// Upstream's, and one for more than [`STEPS_MAX`](Self::STEPS_MAX) steps.
    pub fn parse(template: &str) -> Result<Self, ParseError> {
        Ok(JsonPath { parts: parse::template(template)? })
    }

    /// Reads a path without braces, as definitions of custom resources have it.
    ///
    /// # Errors
    /// As [`parse`](Self::parse).
    pub fn of(path: &str) -> Result<Self, ParseError> {
        Self::parse(&["{", path, "}"].concat())
    }

    /// How many steps a path may have. Nobody's comes near that; it keeps a path's memory in proportion.
    pub const STEPS_MAX: usize = 1_000;

    /// The value that a printer shows: the first one that the first part selects, if it selects any.
    ///
    /// # Errors
    /// No part may fail, also those behind the first.
    pub fn first<'a>(
        &'a self,
        object: &'a Object,
        work: &mut EvaluationBudget,
    ) -> Result<Option<SelectedValue<'a>>, Failure> {
        let mut first = None;
        for (at, part) in self.parts.iter().enumerate() {
            let found = evaluate::of_part(part, object, work)?;
            if at == 0 {
                first = found.first().copied();
            }
        }
        Ok(first)
    }

    /// What each part selects, in order.
    ///
    /// # Errors
    /// A value is not of the kind that a step is for, or there is more to do than `work` allows.
    pub fn find<'a>(
        &'a self,
        object: &'a Object,
        work: &mut EvaluationBudget,
    ) -> Result<Vec<Vec<SelectedValue<'a>>>, Failure> {
        self.parts.iter().map(|part| Ok(evaluate::of_part(part, object, work)?.into_vec())).collect()
    }
}
