//! The kinds of the API group `discovery`.

pub(crate) mod endpoint_slice;
