//! What every request gets: TLS, the chain, health, metrics, drain.
//!
//! ```text
//! listener ─ accept ─▶ connection ─ TLS, HTTP/1.1 or HTTP/2 ─▶ chain ─ authorized ─▶ Dispatch
//! ```
//!
//! [`Chain::serve`] is the one function that every request runs through; reading it from top to
//! bottom is the order of execution. This crate knows neither kinds nor storage: what is behind the
//! chain is an [`endpoints::dispatch::Dispatch`], and what decides about health is a list of
//! [`health::Check`]s.
//!
//! Time comes from a [`Clock`](component_base::clock::Clock) (wall) and tokio's timer (durations),
//! randomness from [`Env::random`]; nothing here asks the machine.

pub mod health;
pub mod memory;
pub mod metrics;
pub mod tls;

mod activity;
mod audit;
mod chain;
mod coalescing_writer;
mod connection;
mod console;
mod debugging;
mod env;
mod flow;
mod http1;
mod impersonation;
mod inflight;
mod lifecycle;
mod listener;
mod pages;
mod process;
mod request_body;
mod respond;
mod response_body;
mod routes;
mod seats;
mod snapshots;
#[cfg(test)]
mod testing;
mod wake_gate;
mod zpages;

pub use crate::audit::{ANSWER_BYTES_MAX, Auditor, KEPT_BYTES_MAX};
pub use chain::{Chain, ChainOptions, Services, Traces};
pub use connection::{ConnectionOptions, Peer, Protocol};
pub use console::{ROWS_MAX, Section, StateFn, histograms};
pub use debugging::{Debugging, SetVerbosity};
pub use env::{Env, Random};
pub use flow::Fairness;
pub use inflight::InflightLimits;
pub use lifecycle::Lifecycle;
pub use listener::{BindOptions, bind, serve};
pub use routes::PageOptions;
pub use snapshots::{Pieces, TakeSnapshot};
pub use zpages::FlagValue;
