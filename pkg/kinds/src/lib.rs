//! Behaviour of each built-in kind: defaults, validation, warnings, table columns and strategies. Pure.

mod admissionregistration;
mod apiextensions;
mod apiregistration;
mod apps;
mod authentication;
mod authorization;
mod autoscaling;
mod batch;
mod builtin;
mod certificates;
mod coordination;
mod core;
mod declarative;
pub mod defaults;
mod discovery;
mod events;
mod flowcontrol;
mod internal;
mod kind;
mod lifecycle;
mod networking;
mod node;
mod pem;
mod policy;
pub mod printers;
mod rbac;
mod resource;
mod scheduling;
mod storage;
mod storagemigration;
pub mod strategy;
pub mod validation;
pub mod warnings;

pub use certificates::certificate_signing_request::IssuedDuration;

#[cfg(test)]
mod coverage;
#[cfg(test)]
mod nesting;

#[cfg(test)]
#[path = "../../schema/testdata/files.rs"]
mod testdata;
