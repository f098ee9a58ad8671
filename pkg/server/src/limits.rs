//! Limits on the requests that the server works on at the same time: by priority and fairness or by plain counts, and
//! by memory.

pub(crate) mod concurrency;
pub(crate) mod flow;
pub(crate) mod incomplete_heads;
pub(crate) mod inflight;
pub(crate) mod limiter;
pub mod memory;
