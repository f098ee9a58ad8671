//! The kinds of the API group `apiextensions`.

pub(crate) mod custom_resource_definition;
