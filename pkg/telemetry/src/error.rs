//! Failures to set tracing up.

/// The texts are those of upstream's messages and exits.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The configuration cannot be decoded or breaks a rule.
    #[error("{0}")]
    Invalid(String),
    /// The endpoint cannot be used.
    #[error("{0}")]
    Endpoint(String),
    #[error(transparent)]
    Export(#[from] opentelemetry_otlp::ExporterBuildError),
}
