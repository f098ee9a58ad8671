//! Failures to reach a gRPC server.

/// The texts are those of upstream's messages and exits.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The socket does not answer, or not in time.
    #[error("{0}")]
    Connect(String),
}

impl From<String> for Error {
    fn from(message: String) -> Self {
        Error::Connect(message)
    }
}

impl From<Error> for String {
    fn from(error: Error) -> Self {
        error.to_string()
    }
}
