//! Mappings of an error to status 500, and the reason why no request causes it, or upstream's mapping that it copies.
//!
//! The search is textual. A mapping outside of a function, or one that is built in another way, is not found.

use std::collections::BTreeSet;

use super::cycles::without_tests;
use super::functions::{blank, functions};

/// Calls that create a response with status 500.
const CALLS: [&str; 7] = [
    "internal_error(",
    "Rejection::internal(",
    "Status::unmapped(",
    "Status::server_timeout(",
    "failure(500",
    "text(500",
    "plain(500",
];

/// Returns the functions with such calls, as `path function`.
pub(crate) fn mappings(sources: &[(String, String)]) -> BTreeSet<String> {
    sources.iter().flat_map(|(path, text)| of_file(path, text)).collect()
}

fn of_file(path: &str, text: &str) -> BTreeSet<String> {
    let text = without_tests(text);
    let code = blank(text);
    let all = functions(text);
    let calls = CALLS.iter().flat_map(|call| code.match_indices(call)).map(|(at, _)| at);
    calls
        .filter_map(|at| all.iter().filter(|f| f.range.contains(&at)).min_by_key(|f| f.range.len()))
        .map(|function| format!("{path} {}", function.name))
        .collect()
}

#[test]
fn mapping_of_function_is_found() {
    let text = "fn a() {\n    let b = || Status::internal_error(\"x\");\n}\n\nfn c() {\n    text(404, \"failure(500\");\n}\n";
    let sources = [("x.rs".to_owned(), text.to_owned())];
    assert_eq!(mappings(&sources), BTreeSet::from(["x.rs a".to_owned()]));
}
