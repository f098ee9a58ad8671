//! The kinds of the API group `lifecycle`.

mod columns;
pub(crate) mod eviction;
pub(crate) mod eviction_request;
