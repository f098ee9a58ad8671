//! Credentials to [`Authenticated`]: who sent a request, and the proof that somebody checked.
//!
//! The order and the meaning of failures are upstream's (`kubeapiserver/authenticator/config.go`):
//! client certificate, then bearer token, then anonymous. The first that vouches for the user wins; a
//! credential that is present but wrong is a 401 unless another one succeeds, and is never taken for
//! no credential at all.
//!
//! This crate reads headers and certificates that others took off the wire. It knows neither HTTP nor
//! storage.

mod bearer;
mod certificate;
mod chain;
mod csv;
mod proof;
pub mod service_account;
mod token_file;

pub use bearer::bearer_token;
pub use certificate::{CertificateError, ClientCertificate};
pub use chain::{Authenticator, Credentials, PresentedCertificate, TokenAuthenticator, TokenUser};
pub use proof::Authenticated;
pub use token_file::{TokenFile, TokenFileError};

/// The extra key under which a user's credential is named in audit records and reviews
/// (KEP-4193).
pub const EXTRA_CREDENTIAL_ID: &str = "authentication.kubernetes.io/credential-id";
