//! Outgoing HTTP, for everybody in the process who calls somebody else: kubelets, webhooks, extension API
//! servers, issuers of tokens, receivers of audit events.
//!
//! A [`Client`] is what is shown and believed on the way ([`Tls`], a bearer token), and the connections that it
//! keeps. It never asks the environment for a proxy: who wants one gives it a [`Dialer`]. Services are found by a [`services::Resolver`], never by
//! DNS. Failures are worded as Go's `net`, `net/http` and `crypto/tls` word them, because clients get to see
//! them.

mod call;
mod client;
mod connect;
mod dial;
mod error;
mod exec;
mod impersonate;
pub mod kubeconfig;
mod material;
pub mod services;
#[cfg(test)]
mod testing;
mod tls;
pub mod webhook;

pub use call::Limits;
pub use client::{Basic, Body, BoxError, Client, Options, full};
pub use connect::TlsClient;
pub use dial::{Address, Dial, DialFuture, DialPath, Dialer, Io, Route, addresses, tcp, words};
pub use error::Error;
pub use exec::{ExecFigures, ExecPlugin};
pub use impersonate::Impersonate;
pub use material::Source;
pub use tls::{Tls, Trust};
