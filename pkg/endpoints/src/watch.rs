//! The answer to a watch: its body, the frames of its events, its metrics, and its end when the server stops.

pub(crate) mod body;
pub mod drain;
pub(crate) mod frame;
pub(crate) mod metrics;
