//! What each built-in kind does: defaults, validation, warnings, table rows and strategies. Pure.

pub mod defaults;
mod pem;
pub mod printers;
pub mod strategy;
pub mod validation;
pub mod warnings;

#[cfg(test)]
mod coverage;
#[cfg(test)]
mod nesting;

#[cfg(test)]
#[path = "../../schema/testdata/files.rs"]
mod testdata;
