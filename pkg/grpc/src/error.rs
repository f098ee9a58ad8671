//! Failures to reach a gRPC server.

/// The texts are those of upstream's messages and exits.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The socket does not answer, or not in time.
    #[error("{0}")]
    Connect(String),
}
