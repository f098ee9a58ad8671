//! Failures of authorizers and of their configuration.

/// The texts are those of upstream's messages and exits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A policy or a configuration cannot be decoded or breaks a rule.
    #[error("{0}")]
    Invalid(String),
    /// A webhook or a match condition failed.
    #[error("{0}")]
    Evaluation(String),
    /// The request is not allowed. The reason is upstream's, and can be empty.
    #[error("{0}")]
    Rejected(String),
    /// A webhook cannot be called.
    #[error("{0}")]
    Connect(String),
}
