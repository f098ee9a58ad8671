//! Table rows of custom resources, and the cells and object views that rows of every kind are made of.

mod cell;
mod custom;
pub mod view;

pub use cell::Cell;
pub use custom::{ColumnDefinition, CustomPrinter};

/// Text for a missing time or measurement.
pub const UNKNOWN: &str = "<unknown>";
