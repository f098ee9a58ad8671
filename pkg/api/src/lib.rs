//! The built-in kinds: resource rows, columns, conversions.

pub mod catalog;
pub mod cel_times;
pub mod conversion;
pub mod defaults;
pub mod descriptions;
pub mod fields;
pub mod jsonpath;
pub mod managed_fields;
pub mod meta;
pub mod options;
mod pem;
pub mod printers;
pub mod qos;
pub mod references;
pub mod resources;
pub mod runtime_config;
pub mod semantic;
pub mod structural;
pub mod tree;
pub mod validation;
pub mod warnings;

#[cfg(test)]
mod coverage;
#[cfg(test)]
mod nesting;

#[cfg(test)]
#[path = "../../schema/testdata/files.rs"]
mod testdata;
