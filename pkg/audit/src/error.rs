//! Failures to read an audit policy.

/// The texts are those of upstream's messages and exits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The file is not a valid policy.
    #[error("{0}")]
    Invalid(String),
}
