//! Resources as data: rows of the built-in kinds, custom resources, the catalog of served versions, conversions
//! and field managers. `pkg/kinds` has the behaviour of the built-in kinds.

pub mod catalog;
pub mod cel_times;
pub mod conversion;
pub mod descriptions;
pub mod fields;
pub mod ip;
pub mod jsonpath;
pub mod managed_fields;
pub mod meta;
pub mod name_rule;
pub mod object_meta;
pub mod options;
pub mod qos;
pub mod references;
pub mod resources;
pub mod runtime_config;
pub mod scheme;
pub mod semantic;
pub mod structural;
pub mod table;
pub mod tree;
