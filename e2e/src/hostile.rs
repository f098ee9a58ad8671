//! Hostile input and bounds on its cost. [`bodies`] attacks every kind and every list, map and text in it, in
//! every format and patch type. [`sequences`] builds documents by operations, [`backends`] answers as webhook
//! and aggregated server, [`stored`] writes elements into etcd, [`headers`] opens watches.
//!
//! The model of a body: a request takes at most [`MEMORY_FACTOR`] times its body plus [`MEMORY_BASE`] of memory. A
//! rejection has at most [`STATUS_BYTES_MAX`]. A response object has at most [`ANSWER_FACTOR`] times the body
//! length plus [`ANSWER_BASE`]. There is always a response, none is a 500, and a body of twice the size
//! takes about twice the time.

pub mod backend;
pub mod backends;
pub mod bodies;
pub mod cases;
pub mod headers;
pub mod node;
pub mod process;
pub mod random;
pub mod report;
pub mod sequences;
pub mod stored;
pub mod storm;
pub mod target;

/// Maximum memory in bytes per byte of body.
pub const MEMORY_FACTOR: u64 = 20;
/// Memory in bytes that every request may take in addition.
pub const MEMORY_BASE: u64 = 16 << 20;
/// Maximum size of a rejection in bytes. Its errors are cut at 1 MiB, and occur once in the message and once
/// as causes.
pub const STATUS_BYTES_MAX: u64 = 4 << 20;
/// Maximum ratio of response object to body. Control characters have escapes of six bytes, and every member
/// can have an owner.
pub const ANSWER_FACTOR: u64 = 7;
/// Additional bytes of such a response.
pub const ANSWER_BASE: u64 = 1 << 20;
/// Errors in the input that upstream answers with 500: of an apply request, which clients recognize, of an applied quantity or
/// time, of a patched resource version, and of an object that is too large for the store.
const UPSTREAM_ERRORS: [&str; 4] = [
    "failed to create typed patch object",
    "to proper version: unable to convert unstructured object",
    "strconv.ParseUint: parsing",
    "etcdserver: request is too large",
];
/// Address space limit of the process (`RLIMIT_AS`) in bytes.
pub const PROCESS_BYTES_MAX: u64 = 2 << 30;

pub use bodies::{bound_memory, make_bases, run, start_bounded};
pub use cases::{Attack, Case, Form};
pub use report::{Finding, Limits, Report};
pub use storm::storm;
pub use target::Api;

/// True for the text of a 500 response that upstream sends too.
fn is_upstream_error(text: &str) -> bool {
    UPSTREAM_ERRORS.iter().any(|error| text.contains(error))
}
