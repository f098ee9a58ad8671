//! Evaluations compared with recordings of cel-go's own interpreter tests: results, errors, and costs where
//! no constants are folded.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::eval::{Recorded, run};
use crate::support::report::Report;
use crate::support::{environments, fixtures};
use jsontree::{Value as Json, json};

/// Runs the cases of a fixture; `costs` is true if they test costs only.
fn compare(kind: &'static str, costs: bool) {
    let mut report = Report::new(kind);
    let mut silent = 0;
    for mut case in fixtures::lines(kind) {
        case["optionalSyntax"] = true.into();
        let (env, options) = environments::of_checker(&case);
        let types = case["vars"].as_object().unwrap().clone();
        let variables = types.keys().map(jsontree::Key::as_str).collect();
        let recorded = Recorded { env, options, variables, foreign: false };
        let name = format!("{} {}", case["name"].as_str().unwrap_or(""), case["expr"].as_str().unwrap());
        case["vars"] = match &case["in"] {
            Json::Null => json!({}),
            given => given.get("map").cloned().unwrap_or_else(|| json!({"": {"lazy": true}})),
        };
        if case["limit"] == 0 {
            case["limit"] = Json::Null;
        }
        match run(&case, &recorded, costs) {
            None => silent += 1,
            Some(outcome) => {
                report.count();
                if let Err(difference) = outcome {
                    report.miss(&name, &difference);
                }
            }
        }
    }
    println!("{silent} cases do not tell their input");
    report.finish();
}

#[test]
fn interpreter_results_match_recordings() {
    compare("interp", false);
}

#[test]
fn interpreter_costs_match_recordings() {
    compare("runtimecost", true);
}
