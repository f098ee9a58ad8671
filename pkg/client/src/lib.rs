//! Outgoing HTTP for all components of the process: calls to kubelets, webhooks, extension API servers, token
//! issuers and audit backends.
//!
//! A [`Client`] combines credentials, trusted CAs ([`Tls`], a bearer token) and connection pools. It never
//! takes a proxy from the environment; pass a [`Dialer`] for that. A [`services::Resolver`] resolves
//! Services, never DNS. Error texts equal those of Go's `net`, `net/http` and `crypto/tls`, because API
//! clients receive them.

mod call;
mod client;
mod connect;
mod dial;
mod error;
mod exec;
mod impersonate;
pub mod kubeconfig;
mod material;
mod redirect;
pub mod services;
#[cfg(test)]
mod testing;
mod tls;
pub mod webhook;

pub use call::{Limits, failure_text};
pub use client::{Basic, Body, BoxError, Client, Options, full};
pub use connect::TlsClient;
pub use dial::{
    Address, AddressCheck, Dial, DialFuture, DialPath, Dialer, Io, Route, addresses, go_io_error_text, tcp,
};
pub use error::Error;
pub use exec::{ExecMetrics, ExecPlugin};
pub use impersonate::Impersonate;
pub use material::Source;
pub use tls::{Tls, Trust};
