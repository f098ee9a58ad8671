//! Authenticates requests: credentials in, [`Authenticated`] out.
//!
//! Order and failure rules are upstream's (`kubeapiserver/authenticator/config.go`): proxy headers, client
//! certificate, bearer token (of WebSockets too), then anonymous. The first accepted credential wins. An
//! invalid credential is a 401 unless another one succeeds. It never counts as a missing credential.
//!
//! This crate works on parsed headers and certificates. It is independent of connections and storage.

mod bearer;
mod bootstrap_token;
mod cache_metrics;
mod cached;
mod certificate;
mod chain;
mod csv;
mod error;
mod expiring_cache;
mod fair_share;
pub mod oidc;
mod proof;
mod request_header;
pub mod service_account;
mod token_file;
mod webhook;
pub mod websocket;

pub use bearer::bearer_token;
pub use bootstrap_token::{BootstrapSecret, BootstrapSecrets, BootstrapTokens};
pub use cache_metrics::TokenCacheMetrics;
pub use cached::CachedAuthenticator;
pub use certificate::{CertificateError, ClientCertificate};
pub use chain::{
    Anonymous, Authenticator, Credentials, PresentedCertificate, PresentedCertificates, TokenAuthenticator,
    TokenOrigin, TokenUser, Unauthenticated,
};
pub use csv::CsvError;
pub use error::Error;
pub use proof::Authenticated;
pub use request_header::RequestHeaders;
pub use token_file::{TokenFile, TokenFileError};
pub use webhook::WebhookTokens;

/// The extra key with the id of a user's credential, in audit events and reviews (KEP-4193).
pub const EXTRA_CREDENTIAL_ID: &str = "authentication.kubernetes.io/credential-id";
