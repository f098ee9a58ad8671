//! The kinds of the API group `flowcontrol`.

pub(crate) mod flow_schema;
pub(crate) mod priority_level_configuration;
