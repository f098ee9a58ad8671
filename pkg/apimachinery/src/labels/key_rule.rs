//! All requirements of a selector on one label key, combined. A match takes logarithmic time in the number of values: a
//! client can send thousands of requirements, and each change is matched with each watch.

use super::{Operator, Requirement};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct KeyRule {
    key: String,
    /// True if an object without the label does not match.
    pub(super) is_required: bool,
    /// The only values that match, sorted; `None` if there is no such requirement.
    allowed: Option<Box<[String]>>,
    /// Values that do not match, sorted.
    excluded: Box<[String]>,
    /// Exclusive lower bound of the number.
    above: Option<i64>,
    /// Exclusive upper bound of the number.
    below: Option<i64>,
    /// True if no value matches.
    rejects_all: bool,
}

impl KeyRule {
    /// Combines requirements on the same key.
    pub(super) fn new(key: &str, requirements: &[Requirement]) -> Self {
        let mut rule = KeyRule {
            key: key.to_owned(),
            is_required: false,
            allowed: None,
            excluded: Box::default(),
            above: None,
            below: None,
            rejects_all: false,
        };
        let mut excluded = Vec::new();
        for requirement in requirements {
            let values = requirement.values();
            match requirement.operator() {
                Operator::Equals | Operator::DoubleEquals | Operator::In => rule.restrict_to(values),
                Operator::NotEquals | Operator::NotIn => excluded.extend_from_slice(values),
                Operator::Exists => rule.is_required = true,
                Operator::DoesNotExist => rule.rejects_all = true,
                Operator::GreaterThan => rule.bound(values, |rule, bound| {
                    rule.above = rule.above.max(Some(bound));
                }),
                Operator::LessThan => rule.bound(values, |rule, bound| {
                    rule.below = Some(rule.below.map_or(bound, |below| below.min(bound)));
                }),
            }
        }
        rule.excluded = sorted(excluded);
        rule
    }

    pub(super) fn key(&self) -> &str {
        &self.key
    }

    /// Restricts the allowed values to these.
    fn restrict_to(&mut self, values: &[String]) {
        self.is_required = true;
        let allowed = match &self.allowed {
            None => values.to_vec(),
            Some(allowed) => {
                values.iter().filter(|value| contains(allowed, value.as_bytes())).cloned().collect()
            }
        };
        self.allowed = Some(sorted(allowed));
    }

    /// Applies a bound. A value that is not a number matches nothing.
    fn bound(&mut self, values: &[String], apply: impl FnOnce(&mut Self, i64)) {
        self.is_required = true;
        match values.first().and_then(|value| value.parse().ok()) {
            Some(bound) => apply(self, bound),
            None => self.rejects_all = true,
        }
    }

    /// True if a label of this key with this value matches.
    pub(super) fn accepts(&self, value: &[u8]) -> bool {
        !self.rejects_all
            && self.allowed.as_ref().is_none_or(|allowed| contains(allowed, value))
            && !contains(&self.excluded, value)
            && self.is_within_bounds(value)
    }

    fn is_within_bounds(&self, value: &[u8]) -> bool {
        if self.above.is_none() && self.below.is_none() {
            return true;
        }
        let number = std::str::from_utf8(value).ok().and_then(|value| value.parse::<i64>().ok());
        number.is_some_and(|number| {
            self.above.is_none_or(|above| number > above) && self.below.is_none_or(|below| number < below)
        })
    }
}

fn sorted(mut values: Vec<String>) -> Box<[String]> {
    values.sort_unstable();
    values.dedup();
    values.into()
}

fn contains(sorted: &[String], value: &[u8]) -> bool {
    sorted.binary_search_by(|other| other.as_bytes().cmp(value)).is_ok()
}
