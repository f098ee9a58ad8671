//! Field requirements of a predicate, grouped by field. A match takes logarithmic time in the number of requirements: a
//! client can send thousands of them, and each change is matched with each watch.

use super::Field;
use crate::Element;

/// One requirement on a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldTerm {
    pub field: Field,
    /// True for `=`, false for `!=`.
    pub equal: bool,
    pub value: String,
}

/// Requirements on fields; all must hold. The default has none. Collect it from its terms.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldTerms(Box<[FieldRule]>);

/// All requirements on one field.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FieldRule {
    field: Field,
    values: Values,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Values {
    Required(String),
    /// Sorted, for a binary search.
    Excluded(Box<[String]>),
    /// The requirements contradict each other.
    None,
}

impl FieldTerms {
    /// True if there are no requirements.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn matches(&self, element: &Element) -> bool {
        self.0.iter().all(|rule| rule.values.contain(rule.field.of(element)))
    }

    /// The required value of a field, if there is exactly one.
    pub(super) fn required(&self, field: Field) -> Option<&str> {
        match &self.0.iter().find(|rule| rule.field == field)?.values {
            Values::Required(value) => Some(value),
            Values::Excluded(_) | Values::None => None,
        }
    }
}

impl Values {
    fn of(terms: &[FieldTerm]) -> Self {
        let of_kind = |equal| terms.iter().filter(move |term| term.equal == equal).map(|term| &term.value);
        match of_kind(true).next() {
            Some(value)
                if of_kind(true).any(|other| other != value)
                    || of_kind(false).any(|other| other == value) =>
            {
                Values::None
            }
            Some(value) => Values::Required(value.clone()),
            None => {
                let mut values: Vec<String> = of_kind(false).cloned().collect();
                values.sort_unstable();
                values.dedup();
                Values::Excluded(values.into())
            }
        }
    }

    fn contain(&self, value: &str) -> bool {
        match self {
            Values::Required(required) => required == value,
            Values::Excluded(excluded) => {
                excluded.binary_search_by(|other| other.as_str().cmp(value)).is_err()
            }
            Values::None => false,
        }
    }
}

impl FromIterator<FieldTerm> for FieldTerms {
    fn from_iter<I: IntoIterator<Item = FieldTerm>>(terms: I) -> Self {
        let mut terms: Vec<FieldTerm> = terms.into_iter().collect();
        terms.sort_by_key(|term| term.field);
        let of_field = terms.chunk_by(|a, b| a.field == b.field);
        let rules = of_field
            .filter_map(|terms| Some(FieldRule { field: terms.first()?.field, values: Values::of(terms) }));
        FieldTerms(rules.collect())
    }
}
