//! Failures to read the egress configuration and to dial through a proxy.

/// The texts are those of upstream's messages and exits.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The configuration cannot be decoded or breaks a rule.
    #[error("{0}")]
    Invalid(String),
    /// The proxy cannot be reached, or it does not connect to the target.
    #[error("{0}")]
    Dial(String),
    #[error("{message}")]
    File { message: String, source: std::io::Error },
    #[error(transparent)]
    Decode(#[from] schema::configuration::ReadError),
    #[error(transparent)]
    Client(#[from] client::Error),
    #[error(transparent)]
    Grpc(#[from] grpc::Error),
}
