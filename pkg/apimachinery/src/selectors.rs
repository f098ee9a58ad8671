//! The selectors of a request as authorizers see them (KEP-4601).

use crate::{fields, labels};

/// What a selector requires, as far as it can be read. All requirements have to hold, so an authorizer that
/// misses some is asked the broader question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requirements<R> {
    /// Those that can be read.
    pub read: Vec<R>,
    /// What is wrong with the first of the others.
    pub error: Option<String>,
}

impl<R> Requirements<R> {
    /// No selector.
    pub const NONE: Self = Requirements { read: Vec::new(), error: None };

    /// Requirements that were read one by one: those that could be, and why another could not.
    pub fn collect(results: impl Iterator<Item = Result<R, String>>) -> Self {
        let mut all = Self::NONE;
        for result in results {
            match result {
                Ok(requirement) => all.read.push(requirement),
                Err(error) => {
                    all.error.get_or_insert(error);
                }
            }
        }
        all
    }

    fn of_selector(parsed: Result<Vec<R>, String>) -> Self {
        match parsed {
            Ok(read) => Requirements { read, error: None },
            Err(error) => Requirements { read: Vec::new(), error: Some(error) },
        }
    }
}

impl<R> Default for Requirements<R> {
    fn default() -> Self {
        Self::NONE
    }
}

/// Requirements on fields.
pub type FieldRequirements = Requirements<fields::Requirement>;
/// Requirements on labels.
pub type LabelRequirements = Requirements<labels::Requirement>;

impl FieldRequirements {
    /// Those of a selector's text; none of an empty one.
    pub fn parse(text: &str) -> Self {
        if text.is_empty() {
            return Self::NONE;
        }
        let parsed = fields::parse(text).map(|selector| selector.requirements().to_vec());
        Self::of_selector(parsed.map_err(|error| error.to_string()))
    }

    /// The value that a field must be equal to, if the requirements say so.
    pub fn exact_match(&self, field: &str) -> Option<&str> {
        let exact = |r: &&fields::Requirement| r.operator == fields::Operator::Equals && r.field == field;
        self.read.iter().find(exact).map(|requirement| requirement.value.as_str())
    }
}

impl LabelRequirements {
    /// Those of a selector's text; none of an empty one.
    pub fn parse(text: &str) -> Self {
        if text.is_empty() {
            return Self::NONE;
        }
        let parsed = labels::parse(text).map(|selector| selector.requirements().to_vec());
        Self::of_selector(parsed.map_err(|error| error.to_string()))
    }
}

/// Both selectors of a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selectors {
    /// On fields.
    pub fields: FieldRequirements,
    /// On labels.
    pub labels: LabelRequirements,
}

impl Selectors {
    /// Of a request that selects nothing in particular.
    pub const NONE: Self = Selectors { fields: Requirements::NONE, labels: Requirements::NONE };

    /// Whether nothing is left out by them, as far as they can be read.
    pub fn is_empty(&self) -> bool {
        self.fields.read.is_empty() && self.labels.read.is_empty()
    }
}
