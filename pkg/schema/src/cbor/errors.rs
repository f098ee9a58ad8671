//! Why CBOR is refused, in the words of upstream's library.

use std::borrow::Cow;
use std::fmt::{self, Display};

use crate::memory::BudgetExceeded;

/// Why a data item was refused. Displays the text that upstream's decoder has for it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// There is nothing at all.
    #[error("EOF")]
    Empty,
    /// The data end inside an item.
    #[error("unexpected EOF")]
    UnexpectedEnd,
    /// No CBOR, or an item that no JSON value corresponds to.
    #[error("cbor: {0}")]
    Refused(String),
    /// A value of the wrong type, or a number that does not fit.
    #[error("{0}")]
    Type(Box<TypeError>),
    /// A key that is no field of its struct. The index is all that upstream tells.
    #[error("cbor: found unknown field at map element index {0}")]
    UnknownField(u64),
    /// A text that is no quantity, time, …
    #[error("{0}")]
    Value(String),
    /// The tree would take too much memory.
    #[error(transparent)]
    NoRoom(#[from] BudgetExceeded),
    /// The search for `apiVersion` and `kind`, which comes before decoding, failed.
    #[error("unable to determine group/version/kind: {0}")]
    TypeMeta(Box<Error>),
}

/// A data item met a Go type that cannot hold it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeError {
    /// The item's major type: `byte string`, `map`, …
    pub item: &'static str,
    /// The Go type.
    pub go_type: Cow<'static, str>,
    /// The outermost Go struct on the way, and its field; `None` outside of structs.
    pub field: Option<(&'static str, &'static str)>,
    /// What else there is to say; may be empty.
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
    /// Names the field of a struct in an error that came from its value.
    pub(super) fn in_field(mut self, message: &'static str, field: &'static str) -> Self {
        if let Error::Type(error) = &mut self {
            error.field = Some((message, field));
        }
        self
    }

    /// An item that is well formed but has no meaning here.
    pub(super) fn unacceptable(item: &str, what: &str) -> Self {
        Error::Refused(format!("data item of cbor type {item} is not accepted by protocol: {what}"))
    }
}
