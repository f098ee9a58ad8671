//! The kinds of the API group `apiregistration`.

pub(crate) mod api_service;
