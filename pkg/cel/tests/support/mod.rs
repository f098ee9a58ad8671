//! What the tests of this crate share.

#[allow(dead_code, reason = "not every test binary needs environments")]
pub(crate) mod environments;
pub(crate) mod fixtures;
#[allow(dead_code, reason = "not every test binary needs messages")]
pub(crate) mod protos;
#[allow(dead_code, reason = "not every test binary reports")]
pub(crate) mod report;
#[allow(dead_code, reason = "not every test binary evaluates")]
pub(crate) mod values;
