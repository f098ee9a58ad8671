//! Table rows of custom resources, and the cells and object views that rows of every kind are made of.

mod cell;
mod custom;
pub mod view;

pub use cell::Cell;
pub use custom::{ColumnDefinition, CustomPrinter};

/// What a missing time or measurement is called.
pub const UNKNOWN: &str = "<unknown>";
