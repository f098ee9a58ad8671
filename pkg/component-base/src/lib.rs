//! Base types of every part of a server: feature gates, clock, trace spans, metrics, log limits, weakened decisions.
#![warn(missing_docs)]
#![cfg_attr(
    not(test),
    warn(clippy::arithmetic_side_effects, clippy::indexing_slicing, clippy::as_conversions)
)]

pub mod clock;
pub mod features;
pub mod line_limit;
pub mod metrics;
pub mod trace;
pub mod weakened;
