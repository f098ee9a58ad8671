//! Audit: which requests are recorded and how much of them ([`Policy`]), what a record looks like ([`Event`]), and
//! where it goes ([`Sink`]). The texts are upstream's (`apiserver/pkg/audit`, `plugin/pkg/audit`).
//!
//! A sink that is said to block does so: whoever is recorded waits until the record has been handed to the
//! system. Only [`Batch`] lets them go, and then it may lose records when they come too fast, and counts them.
//!
//! This crate knows no HTTP, no storage and no kinds. It reads no clock but the one that it is given.

mod batch;
mod content;
mod error;
mod event;
mod figures;
mod file;
mod level;
mod log;
mod policy;
mod sink;

pub use batch::{Batch, BatchOptions, Throttle};
pub use content::Content;
pub use error::Error;
pub use event::{BodyObjectMeta, Event, ObjectReference, RequestRecord, ResponseStatus, write_list};
pub use figures::Figures;
pub use file::{File, FileOptions};
pub use level::{Level, Stage, Stages};
pub use log::{Format, Log};
pub use policy::{GroupResources, Policy, Rule, Verdict};
pub use sink::{Lenient, Sink, Truncate, TruncateOptions, Union};
