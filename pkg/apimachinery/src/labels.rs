//! Label selectors: `a=b,c!=d,e in (x,y),!f,g>1`.
//!
//! Parsing, canonical text and error texts are upstream's (`apimachinery/pkg/labels`). Matching calls a
//! lookup closure and allocates nothing.

mod key_rule;
mod label_selector;
mod lexer;
mod parser;
mod requirement;

pub use label_selector::from_label_selector;
pub use parser::parse;
pub use requirement::{Operator, Requirement};

use key_rule::KeyRule;
use std::fmt::{self, Display};
use thiserror::Error;

/// Syntax error in a label selector, in upstream's wording.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct LabelSelectorError(pub(crate) String);

/// A conjunction of requirements, sorted by key; or a selector that matches nothing and has no text form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selector {
    requirements: Vec<Requirement>,
    /// The requirements by key, in ascending order.
    rules: Vec<KeyRule>,
    /// Number of rules that reject an object without their label.
    required_count: usize,
    matches_nothing: bool,
}

impl Selector {
    /// Selector that matches every object.
    pub const fn everything() -> Self {
        Self { requirements: Vec::new(), rules: Vec::new(), required_count: 0, matches_nothing: false }
    }

    /// Selector that matches no object, like an absent `LabelSelector`.
    pub const fn nothing() -> Self {
        Self { requirements: Vec::new(), rules: Vec::new(), required_count: 0, matches_nothing: true }
    }

    /// Selector with these requirements, sorted by key.
    pub fn new(mut requirements: Vec<Requirement>) -> Self {
        requirements.sort_by(|a, b| a.key().cmp(b.key()));
        let of_key = requirements.chunk_by(|a, b| a.key() == b.key());
        let rules = of_key.filter_map(|of_key| Some(KeyRule::new(of_key.first()?.key(), of_key)));
        let rules: Vec<KeyRule> = rules.collect();
        let required_count = rules.iter().filter(|rule| rule.is_required).count();
        Self { requirements, rules, required_count, matches_nothing: false }
    }

    /// Selector for objects that have all these labels. The labels are not validated, as in upstream's
    /// `SelectorFromSet`.
    pub fn from_set<'a>(labels: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        Self::new(labels.into_iter().map(|(key, value)| Requirement::equals(key, value)).collect())
    }

    /// Parses a selector; see [`parse`].
    pub fn parse(text: &str) -> Result<Self, LabelSelectorError> {
        parse(text)
    }

    /// The requirements, sorted by key.
    pub fn requirements(&self) -> &[Requirement] {
        &self.requirements
    }

    /// True if every object matches.
    pub fn is_empty(&self) -> bool {
        !self.matches_nothing && self.requirements.is_empty()
    }

    /// True for [`Selector::nothing`]. Contradicting requirements are not
    /// detected.
    pub fn matches_nothing(&self) -> bool {
        self.matches_nothing
    }

    /// True if an object matches; `lookup` returns the value of a label.
    pub fn matches<'v>(&self, lookup: impl Fn(&str) -> Option<&'v str>) -> bool {
        let holds = |rule: &KeyRule| match lookup(rule.key()) {
            Some(value) => rule.accepts(value.as_bytes()),
            None => !rule.is_required,
        };
        !self.matches_nothing && self.rules.iter().all(holds)
    }

    /// True if an object with these labels, in any order, matches. Takes logarithmic time in the number of requirements
    /// for each label.
    pub fn matches_pairs<K: AsRef<[u8]>, V: AsRef<[u8]>>(
        &self,
        labels: impl IntoIterator<Item = (K, V)>,
    ) -> bool {
        if self.matches_nothing {
            return false;
        }
        // Labels have distinct keys, so each required key counts once.
        let mut missing = self.required_count;
        for (key, value) in labels {
            let found = self.rules.binary_search_by(|rule| rule.key().as_bytes().cmp(key.as_ref()));
            let Some(rule) = found.ok().and_then(|at| self.rules.get(at)) else { continue };
            if !rule.accepts(value.as_ref()) {
                return false;
            }
            missing = missing.saturating_sub(usize::from(rule.is_required));
        }
        missing == 0
    }

    /// Returns the required value of the label `key`, if the selector has one. As in upstream, only the first
    /// requirement on the key counts.
    pub fn requires_exact_match(&self, key: &str) -> Option<&str> {
        self.requirements.iter().find(|r| r.key() == key)?.exact_value()
    }
}

impl Default for Selector {
    fn default() -> Self {
        Self::everything()
    }
}

/// The canonical text, which parses to the same selector.
impl Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, requirement) in self.requirements.iter().enumerate() {
            let separator = if index == 0 { "" } else { "," };
            write!(f, "{separator}{requirement}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
