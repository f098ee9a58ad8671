//! Fuzzes the selector parsers with arbitrary text, against the invariants in `tests/mutations/claims.rs`.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../tests/mutations/claims.rs"]
#[allow(dead_code, reason = "each target checks one claim")]
mod claims;

fuzz_target!(|text: &str| claims::selectors(text));
