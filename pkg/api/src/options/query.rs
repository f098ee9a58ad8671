//! Typed access to the parameters of a query, with Go's parsing rules.

use apimachinery::strconv::{NumError, parse_int};
use apimachinery::{fields, labels};
use thiserror::Error;

/// Why a parameter cannot be decoded. The text is what upstream answers, with status 400.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ParameterError {
    /// Not an integer; an empty text is none either.
    #[error(transparent)]
    Integer(#[from] NumError),
    /// Not a label selector.
    #[error(transparent)]
    LabelSelector(#[from] labels::ParseError),
    /// Not a field selector.
    #[error(transparent)]
    FieldSelector(#[from] fields::ParseError),
}

/// The decoded parameters of a query, in order: any cheap iterator over pairs, for example
/// `vec.iter().map(|(k, v)| (k.as_ref(), v.as_ref()))`. Queries are short, so each look-up is a scan.
pub trait Parameters<'q>: Iterator<Item = (&'q str, &'q str)> + Clone {
    /// The first value of a parameter.
    fn first(&self, name: &str) -> Option<&'q str> {
        self.clone().find(|(key, _)| *key == name).map(|(_, value)| value)
    }

    /// The first value of a parameter; empty when absent.
    fn text(&self, name: &str) -> String {
        self.first(name).unwrap_or_default().to_owned()
    }

    /// Every value of a parameter.
    fn texts(&self, name: &str) -> Vec<String> {
        self.clone().filter(|(key, _)| *key == name).map(|(_, value)| value.to_owned()).collect()
    }

    /// A boolean parameter: only `0` and `false` in any case are false.
    fn flag(&self, name: &str) -> Option<bool> {
        self.first(name).map(|value| value != "0" && !value.eq_ignore_ascii_case("false"))
    }

    /// An integer parameter.
    ///
    /// # Errors
    /// A value that is no 64-bit decimal integer.
    fn integer(&self, name: &str) -> Result<Option<i64>, NumError> {
        self.first(name).map(parse_int).transpose()
    }
}

impl<'q, I: Iterator<Item = (&'q str, &'q str)> + Clone> Parameters<'q> for I {}
