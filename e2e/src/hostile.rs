//! Bodies that are made to hurt: for every kind, and every list, map and text in it, in every format and kind of
//! patch, and what they may cost a server.
//!
//! The model: a request takes at most [`MEMORY_FACTOR`] times its body plus [`MEMORY_BASE`] of memory, a refusal has
//! at most [`STATUS_BYTES_MAX`], an object as an answer at most [`ANSWER_FACTOR`] times the length of the body plus
//! [`ANSWER_BASE`], there is an answer without a panic, and twice the body takes about twice the time.

pub mod cases;
pub mod node;
pub mod process;
pub mod run;
pub mod storm;

/// Memory by bytes of body.
pub const MEMORY_FACTOR: u64 = 20;
/// Memory that any request may take, in bytes.
pub const MEMORY_BASE: u64 = 16 << 20;
/// What a refusal may have, in bytes: its errors are cut at 1 MiB, and written once in its message and once as causes.
pub const STATUS_BYTES_MAX: u64 = 4 << 20;
/// How many times the body an object may be as an answer: control characters have escapes of six bytes, and every member
/// may have an owner.
pub const ANSWER_FACTOR: u64 = 7;
/// What such an answer may have beyond that, in bytes.
pub const ANSWER_BASE: u64 = 1 << 20;
/// What the process may have altogether (`RLIMIT_AS`), in bytes.
pub const PROCESS_BYTES_MAX: u64 = 2 << 30;

pub use cases::{Attack, Case, Form};
pub use run::{Finding, Limits, Report, make_bases, run, start_bounded};
pub use storm::storm;
