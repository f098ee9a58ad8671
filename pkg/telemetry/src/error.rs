//! Failures to set tracing up.

use std::io;
use std::path::PathBuf;

/// The texts about the configuration file are upstream's.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The configuration cannot be decoded or breaks a rule.
    #[error("{0}")]
    Invalid(String),
    /// The endpoint cannot be used.
    #[error("{0}")]
    Endpoint(String),
    /// The endpoint, or its certificates and key, cannot be used.
    #[error("tracing endpoint \"{endpoint}\": {}", causes(source))]
    Connection {
        /// Host and port.
        endpoint: String,
        /// Error of the gRPC library.
        #[source]
        source: tonic::transport::Error,
    },
    /// A file of the environment is unreadable.
    #[error("{variable}={}: {source}", path.display())]
    File {
        /// Environment variable.
        variable: String,
        /// Its value.
        path: PathBuf,
        /// Error of the system.
        #[source]
        source: io::Error,
    },
    /// A file of the environment contains no certificate.
    #[error("{variable}={}: the file contains no PEM certificate", path.display())]
    NoCertificate {
        /// Environment variable.
        variable: String,
        /// Its value.
        path: PathBuf,
    },
    /// The exporter cannot be built.
    #[error(transparent)]
    Export(#[from] opentelemetry_otlp::ExporterBuildError),
}

/// Returns an error's text with its causes. The library's own text contains none of them.
fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
