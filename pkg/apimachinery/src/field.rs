//! Where in an object something is wrong, and what: field paths and field
//! errors, with the texts of upstream's `validation/field` package.

mod error;
mod path;

pub use error::{BadValue, Error, ErrorType, aggregate};
pub use path::Path;
