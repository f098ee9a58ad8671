//! The HTTP server: TLS, connections, the request chain, limits, health, metrics, drain.
//!
//! ```text
//! listener ─ accept ─▶ connection ─ TLS, HTTP/1.1 or HTTP/2 ─▶ chain ─ authorized ─▶ Dispatch
//! ```
//!
//! [`Chain::serve`] is the one function that every request runs through; reading it from top to
//! bottom is the order of execution. This crate knows neither kinds nor storage: what is behind the
//! chain is an [`endpoints::routing::dispatch::Dispatch`], and what decides about health is a list of
//! [`health::Check`]s.
//!
//! Time comes from a [`Clock`](component_base::clock::Clock) (wall) and tokio's timer (durations),
//! randomness from [`Env::random`]; nothing here asks the machine.

pub mod health;
pub mod limits;
pub mod metrics;
pub mod tls;

mod chain;
mod connection;
mod env;
mod http1;
mod http2;
mod lifecycle;
mod listener;
mod pages;
mod process;
mod respond;
#[cfg(test)]
mod testing;

pub use crate::chain::audit::{Auditor, RECORDED_BYTES_MAX, RESPONSE_BYTES_MAX};
pub use chain::{Chain, ChainOptions, Services, Traces};
pub use connection::ConnectionOptions;
pub use connection::peer::{Peer, Protocol};
pub use env::{Env, Random};
pub use lifecycle::Lifecycle;
pub use limits::flow::Fairness;
pub use limits::inflight::InflightLimits;
pub use listener::{BindOptions, bind, serve};
pub use pages::console::{ROWS_MAX, Section, StateFn, histograms};
pub use pages::debugging::{DebugPages, SetVerbosity};
pub use pages::options::PageOptions;
pub use pages::snapshots::{SnapshotChunks, TakeSnapshot};
pub use pages::zpages::FlagValue;
