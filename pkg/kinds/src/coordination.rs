//! The kinds of the API group `coordination`.

pub(crate) mod lease;
pub(crate) mod lease_candidate;
pub(crate) mod rules;
