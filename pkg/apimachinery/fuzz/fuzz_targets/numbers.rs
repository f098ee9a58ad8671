//! Any text: what `tests/mutations/claims.rs` says about it holds.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../tests/mutations/claims.rs"]
#[allow(dead_code, reason = "each target checks one claim")]
mod claims;

fuzz_target!(|text: &str| claims::numbers(text));
