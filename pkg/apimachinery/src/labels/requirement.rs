//! One requirement of a label selector: key, operator, values.

use super::LabelSelectorError;
use crate::field::{Error, Path, aggregate};
use crate::names::{is_label_key, is_label_value};
use crate::strconv::parse_int;
use std::fmt::{self, Display};

/// Operator between a label and its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operator {
    /// `=`
    Equals,
    /// `==`, equivalent to `=`; the spelling is kept.
    DoubleEquals,
    /// `!=`; also matches objects without the label.
    NotEquals,
    /// `in`
    In,
    /// `notin`; also matches objects without the label.
    NotIn,
    /// The key alone.
    Exists,
    /// `!key`
    DoesNotExist,
    /// `>`, between integers.
    GreaterThan,
    /// `<`, between integers.
    LessThan,
}

/// Label key, operator and matching values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    key: String,
    operator: Operator,
    values: Vec<String>,
}

impl Requirement {
    /// Creates a requirement after checking the key, the number of values and the values. `path` is the
    /// origin of the requirement ([`Path::NIL`] for a query parameter).
    ///
    /// # Errors
    /// All errors, joined like in upstream.
    pub fn new(
        key: String,
        operator: Operator,
        values: Vec<String>,
        path: &Path<'_>,
    ) -> Result<Self, LabelSelectorError> {
        let mut errors = Vec::new();
        errors.extend(key_error(&key, &path.child("key")));
        let values_path = path.child("values");
        errors.extend(count_error(operator, &values, &values_path));
        if matches!(operator, Operator::GreaterThan | Operator::LessThan) {
            let not_numbers = values.iter().enumerate().filter(|(_, v)| parse_int(v).is_err());
            errors.extend(not_numbers.map(|(index, value)| {
                let detail = "for 'Gt', 'Lt' operators, the value must be an integer";
                Error::invalid(&values_path.index(index), value, detail)
            }));
        }
        for (index, value) in values.iter().enumerate() {
            let messages = is_label_value(value);
            if !messages.is_empty() {
                let item = values_path.index(index);
                errors.push(Error::invalid(&item.key(&key), value, messages.join("; ")));
            }
        }
        match aggregate(&errors) {
            Some(text) => Err(LabelSelectorError(text)),
            None => Ok(Self { key, operator, values }),
        }
    }

    /// An unchecked `key=value`.
    pub(super) fn equals(key: &str, value: &str) -> Self {
        Self { key: key.to_owned(), operator: Operator::Equals, values: vec![value.to_owned()] }
    }

    /// Label key, with its optional prefix (`example.com/name`).
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Operator. `=` and `==` are kept apart.
    pub fn operator(&self) -> Operator {
        self.operator
    }

    /// The values, in the order in which they were given to [`Self::new`].
    pub fn values(&self) -> &[String] {
        &self.values
    }

    pub(super) fn exact_value(&self) -> Option<&str> {
        match (self.operator, self.values.as_slice()) {
            (Operator::Equals | Operator::DoubleEquals | Operator::In, [value]) => Some(value),
            _ => None,
        }
    }
}

impl Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = &self.key;
        let mut sorted: Vec<&str> = self.values.iter().map(String::as_str).collect();
        sorted.sort_unstable();
        let values = sorted.join(",");
        match self.operator {
            Operator::Equals => write!(f, "{key}={values}"),
            Operator::DoubleEquals => write!(f, "{key}=={values}"),
            Operator::NotEquals => write!(f, "{key}!={values}"),
            Operator::In => write!(f, "{key} in ({values})"),
            Operator::NotIn => write!(f, "{key} notin ({values})"),
            Operator::Exists => write!(f, "{key}"),
            Operator::DoesNotExist => write!(f, "!{key}"),
            Operator::GreaterThan => write!(f, "{key}>{values}"),
            Operator::LessThan => write!(f, "{key}<{values}"),
        }
    }
}

pub(super) fn key_error(key: &str, path: &Path<'_>) -> Option<Error> {
    let messages = is_label_key(key);
    (!messages.is_empty()).then(|| Error::invalid(path, key, messages.join("; ")))
}

fn count_error(operator: Operator, values: &[String], path: &Path<'_>) -> Option<Error> {
    let (fits, detail) = match operator {
        Operator::In | Operator::NotIn => {
            (!values.is_empty(), "for 'in', 'notin' operators, values set can't be empty")
        }
        Operator::Equals | Operator::DoubleEquals | Operator::NotEquals => {
            (values.len() == 1, "exact-match compatibility requires one single value")
        }
        Operator::Exists | Operator::DoesNotExist => {
            (values.is_empty(), "values set must be empty for exists and does not exist")
        }
        Operator::GreaterThan | Operator::LessThan => {
            (values.len() == 1, "for 'Gt', 'Lt' operators, exactly one value is required")
        }
    };
    (!fits).then(|| Error::invalid(path, &jsontree::Value::from(values), detail))
}
