//! Tests of the codecs with pairs of protobuf and JSON written by Kubernetes (`testdata/`), and with
//! malformed variants of them.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may say what must hold"
)]

#[path = "codecs/archive.rs"]
mod archive;
#[path = "codecs/canonical_json.rs"]
mod canonical_json;
#[path = "codecs/cbor.rs"]
mod cbor;
#[path = "codecs/fixtures.rs"]
mod fixtures;
#[path = "codecs/mutations.rs"]
mod mutations;
#[path = "codecs/nesting.rs"]
mod nesting;
#[path = "codecs/patch_parts.rs"]
mod patch_parts;
#[path = "../testdata/files.rs"]
mod testdata;
#[path = "codecs/wire.rs"]
mod wire;
