//! Startup errors of a server.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use api::catalog::ServingError;
use apimachinery::time::format_duration;
use authentication::TokenFileError;
use authentication::service_account::{KeyError, SignerError};
use registry::client::LookupError;
use schema::configuration::ReadError;
use server::tls::TlsError;

use crate::encryption_at_rest::load::EncryptionLoadError;

/// Error of a configuration file, a manifest or an option, in upstream's wording.
#[derive(Debug, thiserror::Error)]
pub enum ConfigurationError {
    /// A configuration file cannot be decoded.
    #[error(transparent)]
    Decode(#[from] ReadError),
    /// A manifest is not valid YAML.
    #[error(transparent)]
    Yaml(#[from] schema::yaml::Error),
    /// A manifest is not a valid object.
    #[error(transparent)]
    Json(#[from] schema::json::Error),
    /// The configuration of an admission plugin is invalid.
    #[error(transparent)]
    Admission(#[from] admission::PluginConfigurationError),
    /// A kubeconfig or its credentials are unusable.
    #[error(transparent)]
    Client(#[from] client::Error),
    /// A file or a directory cannot be read.
    #[error("{message}")]
    File {
        /// Upstream's message, with Go's text for the system's error.
        message: String,
        /// The system's error.
        source: io::Error,
    },
    /// A value breaks a rule.
    #[error("{0}")]
    Invalid(String),
    /// A step failed.
    #[error("{step}: {source}")]
    Step {
        /// Upstream's text for the step.
        step: String,
        /// Reason of the failure.
        source: Box<ConfigurationError>,
    },
}

impl ConfigurationError {
    /// Adds the step that failed.
    pub(crate) fn within(self, step: impl Into<String>) -> Self {
        ConfigurationError::Step { step: step.into(), source: Box::new(self) }
    }
}

/// Reason why a server does not start, or stops by itself. The text is for its operator.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error("failed to create listener: failed to listen on {address}: {source}")]
    Listen {
        address: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
    /// A file cannot be read or written.
    #[error("{path}: {source}")]
    File {
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// TLS cannot be set up.
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error("no serving certificate")]
    NoServingCertificate,
    /// A key file of service accounts is invalid.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The external signer of service account tokens failed.
    #[error(transparent)]
    Signer(#[from] SignerError),
    #[error(
        "service-account-max-token-expiration cannot be set longer than the token expiration supported by \
         service-account-signing-endpoint: {} > {}",
        go_duration(*.configured),
        go_duration(*.supported)
    )]
    TokenLifetime {
        /// Value of the option.
        configured: Duration,
        /// Limit of the external signer.
        supported: Duration,
    },
    #[error(
        "max token life supported by external-jwt-signer ({seconds}s) is less than acceptable (min {min}s)"
    )]
    SignerLifetime {
        /// Limit of the external signer.
        seconds: i64,
        /// Least acceptable limit.
        min: i64,
    },
    /// A token file is invalid.
    #[error(transparent)]
    TokenFile(#[from] TokenFileError),
    /// An authenticator cannot be created.
    #[error(transparent)]
    Authentication(#[from] authentication::Error),
    /// The authentication configuration breaks these rules.
    #[error("invalid authentication configuration: {0}")]
    AuthenticationRules(String),
    #[error(
        "anonymous: Forbidden: --anonymous-auth flag cannot be set when anonymous field is configured in \
         authentication configuration file"
    )]
    AnonymousTwice,
    /// An authorizer cannot be created.
    #[error(transparent)]
    Authorization(#[from] authorization::Error),
    #[error("loading audit policy file: {source}: from file {}", path.display())]
    AuditPolicy {
        path: PathBuf,
        /// Reason why it is invalid.
        source: audit::Error,
    },
    /// Tracing cannot be set up.
    #[error(transparent)]
    Tracing(#[from] telemetry::Error),
    /// The encryption configuration is unusable.
    #[error(transparent)]
    Encryption(#[from] EncryptionLoadError),
    #[error("forks need a parent in memory, unencrypted")]
    ForkStorage,
    #[error("the authority of clients is of a parent's own making")]
    ForkAuthority,
    #[error("there are as many forks as there may be")]
    ForksMax,
    /// The administrator's kubeconfig is not valid JSON.
    #[error(transparent)]
    Kubeconfig(serde_json::Error),
    /// A controller cannot be created, or its work at start failed.
    #[error(transparent)]
    Controller(#[from] controllers::Error),
    /// The server does not serve a resource that it needs itself.
    #[error(transparent)]
    Lookup(#[from] LookupError),
    /// The aggregator cannot be created.
    #[error(transparent)]
    Aggregator(#[from] aggregator::Error),
    /// A client cannot be created, because its kubeconfig or its credentials are unusable.
    #[error(transparent)]
    Client(#[from] client::Error),
    /// A configuration file, a manifest or an option is invalid.
    #[error(transparent)]
    Configuration(#[from] ConfigurationError),
    /// The store cannot be opened.
    #[error("cannot open the store: {0}")]
    Store(#[from] storage::Error),
    /// The store did not respond at start.
    #[error("the store did not respond within {}", go_duration(*.0))]
    StoreSilent(Duration),
    /// The server cannot serve the configured resources.
    #[error(transparent)]
    Serving(#[from] ServingError),
    #[error("a start hook panicked")]
    HookPanic,
    /// The system cannot create more threads.
    #[error("cannot start threads: {0}")]
    Threads(#[source] io::Error),
    /// Signal handlers cannot be installed.
    #[error("cannot listen for signals: {0}")]
    Signals(#[source] io::Error),
    /// A step failed because of the system.
    #[error(transparent)]
    System(io::Error),
    /// A step failed.
    #[error("{step}: {source}")]
    Step {
        /// Upstream's text for the step.
        step: String,
        /// Reason of the failure.
        source: Box<RunError>,
    },
}

impl RunError {
    /// Wraps a read or write error of a file.
    pub(crate) fn read(path: &Path, source: io::Error) -> Self {
        RunError::File { path: path.to_owned(), source }
    }

    /// Adds the step that failed.
    pub(crate) fn within(self, step: impl Into<String>) -> Self {
        RunError::Step { step: step.into(), source: Box::new(self) }
    }
}

/// Formats a duration as Go does.
fn go_duration(time: Duration) -> String {
    format_duration(i64::try_from(time.as_nanos()).unwrap_or(i64::MAX))
}
