//! Evaluations compared with recordings of upstream's: results, errors and costs.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::{HashMap, HashSet};

use crate::support::report::Report;
use crate::support::{environments, fixtures, values};
use cel::arena::Arena;
use cel::check::check;
use cel::env::Environment;
use cel::eval::{PER_CALL_LIMIT, evaluate};
use cel::overloads::signatures;
use cel::parser::{Options, parse};
use cel::plan::Plan;
use cel::source::Source;
use cel::value::text;
use jsontree::Value as Json;

use crate::Outcome;

/// A recorded environment and its variables.
pub(crate) struct Recorded<'e> {
    pub(crate) env: Environment,
    pub(crate) options: Options,
    pub(crate) variables: Vec<&'e str>,
    /// True if it has functions that Kubernetes lacks.
    pub(crate) foreign: bool,
}

/// Overload of cel-go v0.26 that later versions do not have.
const REMOVED: &str = "int64_to_duration";

/// Returns true if a recorded function, `name/overload`, is not one of Kubernetes'.
fn is_foreign(function: &str) -> bool {
    let (name, id) = function.rsplit_once('/').unwrap();
    if id == REMOVED {
        return false;
    }
    // Operators have overloads that no checker resolves.
    !name.starts_with(['_', '!', '-', '@']) && !signatures(name).iter().any(|s| s.overload.id() == id)
}

/// Runs a case. Returns the difference, if any, or `None` if the case does not contain its input. Compares
/// costs if `costs` is true.
pub(crate) fn run(case: &Json, recorded: &Recorded<'_>, costs: bool) -> Option<Outcome<()>> {
    let source = Source::new(case["expr"].as_str().unwrap());
    let syntax = match parse(&source, &recorded.options) {
        Ok(syntax) => syntax,
        Err(errors) => return Some(Err(format!("does not parse: {}", errors.display(&source)))),
    };
    let checked = match check(&recorded.env, syntax, &source) {
        Ok(checked) => checked,
        Err(errors) => return Some(Err(format!("does not check: {}", errors.display(&source)))),
    };
    let arena = Arena::new();
    let mut names: Vec<&str> = recorded.variables.clone();
    let mut slots = vec![None; names.len()];
    for (name, value) in case["vars"].as_object().unwrap() {
        let value = Some(values::decode(value, &arena)?);
        match names.iter().position(|other| other == name) {
            Some(place) => slots[place] = value,
            None => {
                names.push(name);
                slots.push(value);
            }
        }
    }
    let plan = match Plan::new(&checked, &names) {
        Ok(plan) => plan,
        Err(error) => return Some(Err(format!("no plan: {error}"))),
    };
    let limit = case["limit"].as_u64().unwrap_or(u64::MAX);
    let evaluation = evaluate(&plan, &slots, &arena, limit, None);
    let mut differences = Vec::new();
    match (evaluation.result(), case.get("err")) {
        (Err(error), Some(expected)) if error.to_string() == *expected => {}
        (Err(error), expected) => {
            differences.push(format!("error {error}, recorded {expected:?} {}", case["result"]));
        }
        (Ok(value), Some(expected)) => {
            differences.push(format!("{}, recorded error {expected}", text(value)))
        }
        (Ok(_), None) if case.get("result").is_none() => {}
        (Ok(value), None) if values::matches(value, &case["result"], &arena) => {}
        (Ok(value), None) => differences.push(format!("{}, recorded {}", text(value), case["result"])),
    }
    if let (Some(cost), true) = (case["cost"].as_u64(), costs)
        && cost != evaluation.cost
    {
        differences.push(format!("cost {}, recorded {cost}", evaluation.cost));
    }
    Some(if differences.is_empty() { Ok(()) } else { Err(differences.join("; ")) })
}

#[test]
fn evaluations_end_as_recorded() {
    let envs = fixtures::table("envs");
    let sets = fixtures::table("function_sets");
    let mut built: HashMap<(String, String), Recorded<'_>> = HashMap::new();
    let mut report = Report::new("eval");
    let mut silent = 0;
    let mut foreign = 0;
    for case in fixtures::lines("eval") {
        let field = |name: &str| case[name].as_str().unwrap();
        let recorded = built.entry((field("env").to_owned(), field("use").to_owned())).or_insert_with(|| {
            let env = &envs[field("env")];
            let functions: HashSet<&str> = environments::functions(env, &sets);
            let foreign = functions.iter().any(|function| is_foreign(function));
            let variables = env["vars"].as_object().unwrap().keys().map(jsontree::Key::as_str).collect();
            let (env, options) = environments::environment(env, field("use"), &functions);
            Recorded { env, options, variables, foreign }
        });
        if recorded.foreign && field("use").starts_with("cel-go") {
            foreign += 1;
            continue;
        }
        // Without Kubernetes' limit the recorded programs are not Kubernetes' either: no constants are
        // folded.
        match run(&case, recorded, case["limit"] == PER_CALL_LIMIT) {
            None => silent += 1,
            Some(outcome) => {
                report.count();
                if let Err(difference) = outcome {
                    report.miss(&format!("{} {}", field("use"), field("expr")), &difference);
                }
            }
        }
    }
    println!(
        "{silent} cases do not tell their input, {foreign} have functions that Kubernetes does not have"
    );
    report.finish();
}
