//! Recorded test cases, one module per kind of case.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod check;
mod conformance;
mod estimate;
mod eval;
mod interpreter;
mod parser;
mod rules;
mod structural;
mod support;

/// Result of a case, with the text of the error or of the difference.
pub(crate) type Outcome<T> = Result<T, String>;
