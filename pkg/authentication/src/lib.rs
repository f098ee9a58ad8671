//! Credentials to [`Authenticated`]: who sent a request, and the proof that somebody checked.
//!
//! The order and the meaning of failures are upstream's (`kubeapiserver/authenticator/config.go`):
//! the headers of a proxy, client certificate, bearer token (of WebSockets too), then anonymous. The first that vouches for the user wins; a
//! credential that is present but wrong is a 401 unless another one succeeds, and is never taken for
//! no credential at all.
//!
//! This crate reads headers and certificates that others took off the wire. It serves nobody, and knows
//! nothing of storage.

mod bearer;
mod bootstrap_token;
mod cache_counters;
mod cached;
mod certificate;
mod chain;
mod csv;
mod expiring_cache;
pub mod oidc;
mod proof;
mod request_header;
pub mod service_account;
mod token_file;
mod webhook;
pub mod websocket;

pub use bearer::bearer_token;
pub use bootstrap_token::{BootstrapSecret, BootstrapSecrets, BootstrapTokens};
pub use cache_counters::CacheCounters;
pub use cached::Cached;
pub use certificate::{CertificateError, ClientCertificate};
pub use chain::{
    Anonymous, Authenticator, Credentials, PresentedCertificate, PresentedCertificates, TokenAuthenticator,
    TokenUser, Unauthenticated,
};
pub use proof::Authenticated;
pub use request_header::RequestHeaders;
pub use token_file::{TokenFile, TokenFileError};
pub use webhook::WebhookTokens;

/// The extra key under which a user's credential is named in audit records and reviews
/// (KEP-4193).
pub const EXTRA_CREDENTIAL_ID: &str = "authentication.kubernetes.io/credential-id";
