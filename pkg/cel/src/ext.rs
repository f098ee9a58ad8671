//! Implementations of CEL's extension functions on plain values, independent of expressions, types and costs.
//! Error texts are those of the Go libraries that upstream calls.

mod error;
pub mod format;
pub mod ip;
pub mod named_format;
pub mod regex;
pub mod semver;
pub mod strings;
pub mod time;
pub mod url;

pub use error::{ParseError, RangeError};
