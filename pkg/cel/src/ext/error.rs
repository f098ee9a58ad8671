//! Errors of the functions on strings.

/// Parse error of a text, in the words of the Go library that upstream uses.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ParseError(String);

impl ParseError {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        ParseError(text.into())
    }
}

/// Error about an index or a range outside of a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RangeError {
    /// The string has no such index.
    #[error("index out of range: {0}")]
    Index(i64),
    /// The range starts after its end.
    #[error("invalid substring range. start: {start}, end: {end}")]
    Substring {
        /// First index of the range.
        start: i64,
        /// Index after the range.
        end: i64,
    },
}
