//! CBOR errors with the texts of upstream's library.

use std::borrow::Cow;
use std::fmt::{self, Display};

use crate::memory::BudgetExceeded;

/// A rejected data item. Displays the text of upstream's decoder.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// No data at all.
    #[error("EOF")]
    Empty,
    /// The data end within an item.
    #[error("unexpected EOF")]
    UnexpectedEnd,
    /// Invalid CBOR, or an item without a JSON equivalent.
    #[error("cbor: {0}")]
    Invalid(String),
    /// A value of the wrong type, or a number that does not fit.
    #[error(transparent)]
    Type(Box<TypeError>),
    /// A key without a field in its struct. Upstream reports only the index.
    #[error("cbor: found unknown field at map element index {0}")]
    UnknownField(u64),
    /// An invalid quantity, time, …
    #[error("{0}")]
    Value(String),
    /// The tree would exceed its memory budget.
    #[error(transparent)]
    BudgetExceeded(#[from] BudgetExceeded),
    /// `apiVersion` and `kind` could not be read before decoding.
    #[error("unable to determine group/version/kind: {0}")]
    TypeMeta(#[source] Box<Error>),
}

/// A data item of the wrong type for a Go type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct TypeError {
    /// The item's major type: `byte string`, `map`, …
    pub item: &'static str,
    /// The expected Go type, such as `int32`.
    pub go_type: Cow<'static, str>,
    /// The outermost Go struct on the path, and its field; `None` outside of structs.
    pub field: Option<(&'static str, &'static str)>,
    /// Details; may be empty.
    pub detail: String,
}

impl Display for TypeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TypeError { item, go_type, field, detail } = self;
        write!(f, "cbor: cannot unmarshal {item} into Go ")?;
        match field {
            Some((message, field)) => write!(f, "struct field {message}.{field} of type {go_type}")?,
            None => write!(f, "value of type {go_type}")?,
        }
        if !detail.is_empty() {
            write!(f, " ({detail})")?;
        }
        Ok(())
    }
}

impl Error {
    /// Sets the struct and field in an error of a field's value.
    pub(super) fn in_field(mut self, message: &'static str, field: &'static str) -> Self {
        if let Error::Type(error) = &mut self {
            error.field = Some((message, field));
        }
        self
    }

    /// A well-formed item that is not accepted.
    pub(super) fn unacceptable(item: &str, reason: &str) -> Self {
        Error::Invalid(format!("data item of cbor type {item} is not accepted by protocol: {reason}"))
    }
}
