//! Rules of structural schemas on objects, compared with recordings of upstream's validator.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeSet;

use crate::support::fixtures;
use crate::support::report::Report;
use apimachinery::field::Path;
use cel::env::Environment;
use cel::eval::PER_CALL_LIMIT;
use cel::overloads::Libraries;
use cel::structural::{RunOptions, Validator};
use jsontree::{Number, Object, Value};

/// Converts a recorded object to plain JSON.
fn plain(recorded: &Value) -> Value {
    match recorded {
        Value::Array(items) => items.iter().map(plain).collect(),
        Value::Object(fields) => {
            let (kind, content) = fields.iter().next().unwrap();
            match &**kind {
                "int" => content.as_str().unwrap().parse::<i64>().unwrap().into(),
                "double" => Number::from_f64(content.as_str().unwrap().parse().unwrap()).unwrap().into(),
                "map" => {
                    let fields = content.as_object().unwrap().iter();
                    Value::Object(
                        fields.map(|(name, value)| (name.clone(), plain(value))).collect::<Object>(),
                    )
                }
                other => panic!("{other}"),
            }
        }
        scalar => scalar.clone(),
    }
}

fn difference(case: &Value, schema: &Value) -> Option<String> {
    let stored = Environment::of_release(35).with(Libraries::TESTS);
    let budget = case["budget"].as_i64().unwrap();
    let mut errors = BTreeSet::new();
    let mut remaining = budget;
    if let Some(validator) = Validator::new(schema, case["root"] == true, &stored, 35) {
        let new = plain(&case["obj"]);
        let old = plain(&case["oldObj"]);
        let path = case["path"].as_str().unwrap();
        let options = RunOptions {
            ratcheting: case["ratcheting"] == true,
            budget,
            call_limit: PER_CALL_LIMIT,
            cancel: None,
        };
        let findings = validator.run(&Path::root(path), &new, Some(&old), options);
        errors = findings.errors.iter().map(ToString::to_string).collect();
        remaining = findings.remaining;
    }
    let recorded: BTreeSet<String> = case["errs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|error| error["text"].as_str().unwrap().to_owned())
        .collect();
    if errors == recorded && Some(remaining) == case["remaining"].as_i64() {
        return None;
    }
    Some(format!("{errors:#?} {remaining}\nrecorded {recorded:#?} {}", case["remaining"]))
}

#[test]
fn rule_results_match_recordings() {
    let schemas = fixtures::table("schemas");
    let mut report = Report::new("crd");
    for case in fixtures::lines("crd") {
        report.count();
        let name = case["schema"].as_str().unwrap();
        if let Some(difference) = difference(&case, &schemas[name]) {
            let rules = schemas[name]["x-kubernetes-validations"].to_string();
            report.miss(&format!("{name} {}", &rules[..rules.floor_char_boundary(200)]), &difference);
        }
    }
    report.finish();
}
