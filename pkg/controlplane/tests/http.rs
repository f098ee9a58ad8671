//! Tests of the HTTP API: a complete server in this process with an in-memory store.
#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "http/abandoned.rs"]
mod abandoned;
#[path = "http/admission.rs"]
mod admission;
#[path = "http/client.rs"]
mod client;
#[path = "http/heavy.rs"]
mod heavy;
#[path = "http/hostile.rs"]
mod hostile;
#[path = "http/paths.rs"]
mod paths;
#[path = "http/realistic.rs"]
mod realistic;
#[path = "http/reviews.rs"]
mod reviews;
#[path = "http/tokens.rs"]
mod tokens;
