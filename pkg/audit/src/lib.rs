//! Audit: the policy of recorded requests ([`Policy`]), the record ([`Event`]) and its destinations
//! ([`Sink`]). The names and texts are upstream's (`apiserver/pkg/audit`, `plugin/pkg/audit`).
//!
//! A blocking sink makes the request wait until the operating system has received the record. [`Batch`] does
//! not block. It can lose and count records when they arrive faster than they can be delivered.
//!
//! This crate does not depend on HTTP, storage or resource types, and reads only the clock that it is given.

mod batch;
mod content;
mod error;
mod event;
mod file;
mod level;
mod log;
mod metrics;
mod policy;
mod sink;

pub use batch::{Batch, BatchOptions, Throttle};
pub use content::Content;
pub use error::Error;
pub use event::{BodyObjectMeta, Event, ObjectReference, RequestRecord, ResponseStatus, write_list};
pub use file::{File, FileOptions};
pub use level::{Level, Stage, Stages};
pub use log::{Format, Log};
pub use metrics::AuditMetrics;
pub use policy::{GroupResources, Policy, Rule, Verdict};
pub use sink::{IgnoreFailures, Sink, Truncate, TruncateOptions, Union};
