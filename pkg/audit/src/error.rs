//! Failures to read an audit policy.

/// The texts are those of upstream's messages and exits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The file is not a valid policy.
    #[error("{0}")]
    Invalid(String),
}

impl From<String> for Error {
    fn from(message: String) -> Self {
        Error::Invalid(message)
    }
}

impl From<Error> for String {
    fn from(error: Error) -> Self {
        error.to_string()
    }
}
