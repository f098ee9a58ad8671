//! Bodies that are made to hurt: for every kind, and every list, map and text in it, in every format and kind of
//! patch, and what they may cost a server.
//!
//! The model: a request takes at most [`MEMORY_FACTOR`] times its body plus [`MEMORY_BASE`] of memory, its answer
//! has at most twice the length of the body (every member may have an owner) plus [`ANSWER_BASE`], it gets an
//! answer without a panic, and twice the body takes about twice the time.

pub mod cases;
pub mod node;
pub mod process;
pub mod run;

/// Memory by bytes of body.
pub const MEMORY_FACTOR: u64 = 20;
/// Memory that any request may take, in bytes.
pub const MEMORY_BASE: u64 = 16 << 20;
/// What an answer may have beyond twice the length of the body, in bytes.
pub const ANSWER_BASE: u64 = 1 << 20;
/// What the process may have altogether (`RLIMIT_AS`), in bytes.
pub const PROCESS_BYTES_MAX: u64 = 2 << 30;

pub use cases::{Attack, Case, Form};
pub use run::{Finding, Limits, Report, run};
