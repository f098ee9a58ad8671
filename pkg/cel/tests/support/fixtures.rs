//! Recorded cases, made by `tools/cel-cases.py`, which says what is in them.

use std::collections::HashMap;
use std::io::Read;

use flate2::read::GzDecoder;
use serde_json::Value;

/// The lines of a fixture: a kind of cases, a table, or `conformance`.
pub(crate) fn lines(name: &str) -> Vec<Value> {
    let path = format!("{}/tests/fixtures/{name}.jsonl.gz", env!("CARGO_MANIFEST_DIR"));
    let file = std::fs::File::open(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut text = String::new();
    GzDecoder::new(file).read_to_string(&mut text).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A table (`envs`, `schemas`, `function_sets`) by the names that cases use.
#[allow(dead_code, reason = "not every test binary needs tables")]
pub(crate) fn table(name: &str) -> HashMap<String, Value> {
    let row = |line: Value| (line["name"].as_str().unwrap().to_owned(), line["is"].clone());
    lines(name).into_iter().map(row).collect()
}
