//! Compilation of structural schema rules, compared with recordings of upstream's compiler.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::sync::Arc;

use crate::support::fixtures;
use crate::support::report::Report;
use cel::declared::Builder;
use cel::env::Environment;
use cel::overloads::Libraries;
use cel::structural::{CompiledRule, JsonSchema, Rule, RuleEnvironments};
use jsontree::Value;

/// Parameters of a case that the recording does not contain.
#[derive(Clone, Copy)]
struct Unrecorded {
    /// True if the schema is a resource's root.
    is_root: bool,
    /// True if rules may use upstream's test functions.
    rules_test: bool,
    /// True if messages may use them.
    messages_test: bool,
    /// Release of the environment.
    minor: u32,
}

/// Returns all combinations of the parameters.
fn possible() -> Vec<Unrecorded> {
    let mut all = Vec::new();
    for minor in [35, 30] {
        for (rules_test, messages_test) in [(false, false), (true, true), (true, false)] {
            for is_root in [true, false] {
                all.push(Unrecorded { is_root, rules_test, messages_test, minor });
            }
        }
    }
    all
}

/// Compiles all rules of a schema; `None` if expressions may not access it.
fn compile(schema: &Value, unrecorded: Unrecorded) -> Option<(u64, Vec<CompiledRule>)> {
    let mut builder = Builder::new();
    let place = builder.schema("selfType", JsonSchema(schema), unrecorded.is_root)?;
    let declared = Arc::new(builder.finish(unrecorded.minor));
    let new = Environment::of_release(unrecorded.minor);
    let stored = new.clone().with(Libraries::TESTS);
    let environments = RuleEnvironments::new(&new, &stored, &declared, place);
    let rules = schema["x-kubernetes-validations"].as_array().into_iter().flatten().map(|rule| {
        let text = |name: &str| rule[name].as_str().unwrap_or("");
        environments.compile(&Rule {
            rule: text("rule"),
            message_expression: text("messageExpression"),
            optional_old_self: rule["optionalOldSelf"] == true,
            rule_is_stored: unrecorded.rules_test,
            message_is_stored: unrecorded.messages_test,
        })
    });
    Some((declared.min_serialized(place), rules.collect()))
}

fn difference(case: &Value, actual: &(u64, Vec<CompiledRule>)) -> Option<String> {
    let results = case["results"].as_array().unwrap();
    let min = case["minSerializedSize"].as_u64().unwrap();
    if actual.0 != min || actual.1.len() != results.len() {
        return Some(format!("{} bytes, {} rules", actual.0, actual.1.len()));
    }
    for (expected, actual) in results.iter().zip(&actual.1) {
        let number = |name: &str| {
            expected.get(name).map_or(0, |value| value.as_str().unwrap().parse::<u64>().unwrap())
        };
        let text = |name: &str| expected.get(name).and_then(Value::as_str);
        let equal = text("error") == actual.error.as_deref()
            && text("messageError") == actual.message_error.as_deref()
            && number("maxCost") == actual.max_cost
            && number("maxCardinality") == actual.max_cardinality
            && number("messageMaxCost") == actual.message_max_cost
            && expected["usesOldSelf"] == actual.uses_old_self;
        if !equal {
            let CompiledRule {
                error,
                max_cost,
                max_cardinality,
                message_error,
                message_max_cost,
                uses_old_self,
                ..
            } = actual;
            return Some(format!(
                "want {expected}\nfound {error:?} {max_cost} x {max_cardinality}, {message_error:?} {message_max_cost} \
                 {uses_old_self}"
            ));
        }
    }
    None
}

#[test]
fn rules_compile_as_recorded() {
    let schemas = fixtures::table("schemas");
    let mut report = Report::new("crdcompile");
    for case in fixtures::lines("crdcompile") {
        let name = case["schema"].as_str().unwrap();
        let mut differences = possible().into_iter().map(|unrecorded| {
            let actual = compile(&schemas[name], unrecorded);
            actual.map_or(Some("not exposed".to_owned()), |actual| difference(&case, &actual))
        });
        if let Some(first) = differences.next().unwrap()
            && differences.all(|difference| difference.is_some())
        {
            let rule = case["results"][0]["rule"].as_str().unwrap_or("");
            report.miss(&format!("{name} {rule}"), &first);
        }
        report.count();
    }
    report.finish();
}
