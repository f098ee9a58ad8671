//! Selectors of a request for authorizers (KEP-4601).

use std::fmt::Display;

use crate::{fields, labels};

/// Valid requirements of a selector. They form a conjunction, so ignoring an invalid one only makes the
/// authorized request broader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requirements<R> {
    /// Valid requirements, in the order of the selector.
    pub read: Vec<R>,
    /// Error of the first invalid requirement.
    pub error: Option<String>,
}

impl<R> Requirements<R> {
    /// Requirements of a request without a selector.
    pub const NONE: Self = Requirements { read: Vec::new(), error: None };

    /// Collects the valid requirements and the first error.
    pub fn collect<E: Display>(results: impl Iterator<Item = Result<R, E>>) -> Self {
        let mut collected = Self::NONE;
        for result in results {
            match result {
                Ok(requirement) => collected.read.push(requirement),
                Err(error) => {
                    collected.error.get_or_insert_with(|| error.to_string());
                }
            }
        }
        collected
    }

    fn of_selector(parsed: Result<Vec<R>, impl Display>) -> Self {
        match parsed {
            Ok(read) => Requirements { read, error: None },
            Err(error) => Requirements { read: Vec::new(), error: Some(error.to_string()) },
        }
    }
}

impl<R> Default for Requirements<R> {
    fn default() -> Self {
        Self::NONE
    }
}

/// Requirements of a field selector.
pub type FieldRequirements = Requirements<fields::Requirement>;
/// Requirements of a label selector.
pub type LabelRequirements = Requirements<labels::Requirement>;

impl FieldRequirements {
    /// Parses the text of a selector; empty for an empty text.
    pub fn parse(text: &str) -> Self {
        if text.is_empty() {
            return Self::NONE;
        }
        let parsed = fields::parse(text).map(|selector| selector.requirements().to_vec());
        Self::of_selector(parsed)
    }

    /// Returns the required value of a field, if the requirements have one.
    pub fn exact_match(&self, field: &str) -> Option<&str> {
        let exact = |r: &&fields::Requirement| r.operator == fields::Operator::Equals && r.field == field;
        self.read.iter().find(exact).map(|requirement| requirement.value.as_str())
    }
}

impl LabelRequirements {
    /// Parses the text of a selector; empty for an empty text.
    pub fn parse(text: &str) -> Self {
        if text.is_empty() {
            return Self::NONE;
        }
        let parsed = labels::parse(text).map(|selector| selector.requirements().to_vec());
        Self::of_selector(parsed)
    }
}

/// Selectors of a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selectors {
    /// Requirements of the field selector.
    pub fields: FieldRequirements,
    /// Requirements of the label selector.
    pub labels: LabelRequirements,
}

impl Selectors {
    /// Selectors of a request that selects all objects.
    pub const NONE: Self = Selectors { fields: Requirements::NONE, labels: Requirements::NONE };

    /// True if no valid requirement restricts the request.
    pub fn is_empty(&self) -> bool {
        self.fields.read.is_empty() && self.labels.read.is_empty()
    }
}
