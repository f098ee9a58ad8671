//! Recorded cases; `tools/cel-cases.py` creates and documents them.

use std::collections::HashMap;
use std::io::Read;

use cel::parser::{Macros, Options};
use flate2::read::GzDecoder;
use jsontree::Value;

/// Reads the lines of a fixture: a kind of cases, a table, or `conformance`.
pub(crate) fn lines(name: &str) -> Vec<Value> {
    let path = format!("{}/tests/fixtures/{name}.jsonl.gz", env!("CARGO_MANIFEST_DIR"));
    let file = std::fs::File::open(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut text = String::new();
    GzDecoder::new(file).read_to_string(&mut text).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Reads a table (`envs`, `schemas`, `function_sets`), keyed by the names in cases.
#[allow(dead_code, reason = "not every test binary needs tables")]
pub(crate) fn table(name: &str) -> HashMap<String, Value> {
    let row = |line: Value| (line["name"].as_str().unwrap().to_owned(), line["is"].clone());
    lines(name).into_iter().map(row).collect()
}

/// Returns the parser options of a recorded environment.
#[allow(dead_code, reason = "not every test binary needs it")]
pub(crate) fn parser_options(environment: &Value) -> Options {
    let named = |name: &str| environment["macros"].as_array().unwrap().iter().any(|is| *is == name);
    let sets = [
        ("all:2:true", Macros::STANDARD),
        ("existsOne:2:true", Macros::EXISTS_ONE),
        ("optMap:2:true", Macros::OPTIONAL),
        ("bind:3:true", Macros::BIND),
        ("all:3:true", Macros::TWO_VARIABLE),
        ("sortBy:2:true", Macros::SORT_BY),
    ];
    let macros =
        sets.iter().filter(|(name, _)| named(name)).fold(Macros::NONE, |all, (_, set)| all.with(*set));
    const ESCAPED_IDENTIFIERS: u64 = 7;
    Options {
        optional_syntax: named("optMap:2:true"),
        escaped_identifiers: environment["features"]
            .as_array()
            .unwrap()
            .iter()
            .any(|is| *is == ESCAPED_IDENTIFIERS),
        ..Options::new(macros)
    }
}
