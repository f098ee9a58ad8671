//! Exports the spans of [`component_base::trace`] to a collector, with OpenTelemetry over OTLP.
//!
//! Spans that have ended wait in a queue of bounded length, are sent in batches, and are dropped where the
//! collector does not keep up: nothing that answers a request ever waits for it.

mod channel;
mod config;
mod environment;
mod error;
mod provider;
mod spans;

pub use config::TracingConfiguration;
pub use environment::ExporterEnvironment;
pub use error::Error;
pub use provider::Provider;
