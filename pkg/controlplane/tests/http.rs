//! Tests of the HTTP API: a complete server in this process with an in-memory store.
#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "http/abandoned.rs"]
mod abandoned;
#[path = "http/admission.rs"]
mod admission;
#[path = "http/cbor.rs"]
mod cbor;
#[path = "http/client.rs"]
mod client;
#[path = "http/forms.rs"]
mod forms;
#[path = "http/heavy.rs"]
mod heavy;
#[path = "http/hostile.rs"]
mod hostile;
#[path = "http/lists.rs"]
mod lists;
#[path = "http/negotiation.rs"]
mod negotiation;
#[path = "http/read_options.rs"]
mod read_options;
#[path = "http/reviews.rs"]
mod reviews;
#[path = "http/selectors.rs"]
mod selectors;
#[path = "http/tokens.rs"]
mod tokens;
#[path = "http/watches.rs"]
mod watches;
