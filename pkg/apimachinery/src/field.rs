//! Field paths and field errors, with the texts of upstream's `validation/field` package.

mod error;
mod list;
mod path;

pub use error::{BadValue, Error, ErrorType, aggregate, joined};
pub(crate) use error::{SHORTENED_BYTES_MAX, cut};
pub use list::{ErrorList, LIST_BYTES_MAX};
pub use path::Path;
