//! Shared test helpers.

pub(crate) mod environments;
pub(crate) mod fixtures;
pub(crate) mod protos;
pub(crate) mod report;
pub(crate) mod values;
