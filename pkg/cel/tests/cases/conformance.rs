//! cel-spec's conformance tests for the features that Kubernetes has: no messages, no enumerations, none of
//! the libraries that Kubernetes omits.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;

use crate::support::environments::parse_type;
use crate::support::fixtures;
use crate::support::report::Report;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cel::arena::Arena;
use cel::check::check;
use cel::compile::options;
use cel::env::{Environment, Provider, Validators};
use cel::eval::evaluate;
use cel::overloads::Libraries;
use cel::parser::parse;
use cel::plan::Plan;
use cel::source::Source;
use cel::step_budget::StepBudget;
use cel::types::{Type, Types};
use cel::value::{Value, equal, text};
use jsontree::Value as Json;

use crate::Outcome;

/// Test files about features that Kubernetes lacks.
const UNSUPPORTED: [&str; 10] = [
    "block_ext",
    "encoders_ext",
    "enums",
    "math_ext",
    "namespace",
    "proto2",
    "proto2_ext",
    "proto3",
    "type_deductions",
    "wrappers",
];

/// A provider without types.
struct Nothing;

impl Provider for Nothing {
    fn find_type(&self, _: &mut Types, _: &str) -> Option<Type> {
        None
    }

    fn find_field(&self, _: &mut Types, _: &str, _: &str) -> Option<Type> {
        None
    }
}

/// Decodes a value in the notation of the tests; `None` for messages.
fn decode<'a>(value: &'a Json, arena: &'a Arena) -> Option<Value<'a>> {
    let (kind, content) = value.as_object()?.iter().next()?;
    let digits = || content.as_str().map_or_else(|| content.to_string(), str::to_owned);
    Some(match &**kind {
        "null_value" => Value::Null,
        "bool_value" => Value::Bool(content.as_bool()?),
        "int64_value" => Value::Int(digits().parse().ok()?),
        "uint64_value" => Value::Uint(digits().parse().ok()?),
        "double_value" => Value::Double(match content.as_str() {
            Some("Infinity") => f64::INFINITY,
            Some("-Infinity") => f64::NEG_INFINITY,
            Some("NaN") => f64::NAN,
            _ => content.as_f64()?,
        }),
        "string_value" => Value::String(content.as_str()?),
        "bytes_value" => arena.bytes(&STANDARD.decode(content.as_str()?).ok()?).ok()?,
        "type_value" => Value::Type(content.as_str()?),
        "list_value" => {
            let items = content.get("values").and_then(Json::as_array);
            let items: Option<Vec<_>> = items.into_iter().flatten().map(|item| decode(item, arena)).collect();
            arena.list(&items?).ok()?
        }
        "map_value" => {
            let entries = content.get("entries").and_then(Json::as_array);
            let entry =
                |entry: &'a Json| Some((decode(&entry["key"], arena)?, decode(&entry["value"], arena)?));
            let entries: Option<Vec<_>> = entries.into_iter().flatten().map(entry).collect();
            arena.map(entries?).ok()?
        }
        _ => return None,
    })
}

/// Returns the text of a declared type; `None` for messages.
fn type_text(ty: &Json) -> Option<String> {
    let (kind, content) = ty.as_object()?.iter().next()?;
    Some(match (&**kind, content) {
        ("primitive", Json::String(name)) => match &**name {
            "INT64" => "int".into(),
            "UINT64" => "uint".into(),
            other => other.to_lowercase(),
        },
        ("dyn", _) => "dyn".into(),
        ("null", _) => "null_type".into(),
        ("list_type", list) => format!("list({})", type_text(list.get("elem_type")?)?),
        ("map_type", map) => {
            format!("map({}, {})", type_text(map.get("key_type")?)?, type_text(map.get("value_type")?)?)
        }
        ("well_known", Json::String(name)) if name != "ANY" => name.to_lowercase().into_string(),
        _ => return None,
    })
}

/// Runs a case. Returns the difference, if any, or `None` if the case needs features that Kubernetes lacks.
fn run(case: &Json) -> Option<Outcome<()>> {
    if case["expr"].as_str()?.contains("google.protobuf.") {
        return None;
    }
    let arena = Arena::new();
    let mut types = Types::new();
    let mut variables = Vec::new();
    for declared in case["type_env"].as_array().into_iter().flatten() {
        let ty = parse_type(&mut types, &type_text(&declared["ident"]["type"])?);
        variables.push((declared["name"].as_str()?, ty));
    }
    let mut env = Environment::of_release(36).with(Libraries::BINDINGS);
    env.validators = Validators::default();
    env = env.declare(Arc::new(types), Arc::new(Nothing));
    for (name, ty) in &variables {
        env = env.variable(name, *ty);
    }
    let mut names: Vec<&str> = variables.iter().map(|(name, _)| *name).collect();
    let mut slots = vec![None; names.len()];
    for (name, value) in case["bindings"].as_object().into_iter().flatten() {
        let value = decode(&value["value"], &arena)?;
        match names.iter().position(|other| other == name) {
            Some(place) => slots[place] = Some(value),
            None => {
                env = env.variable(name, Type::DYN);
                names.push(name);
                slots.push(Some(value));
            }
        }
    }
    let expected = match case.get("value") {
        Some(value) => Some(decode(value, &arena)?),
        None if case.get("eval_error").is_some() => None,
        None => Some(Value::Bool(true)),
    };
    let source = Source::new(case["expr"].as_str()?);
    let checked = parse(&source, &options(env.libraries)).map_err(|errors| errors.display(&source));
    let checked =
        checked.and_then(|syntax| check(&env, syntax, &source).map_err(|errors| errors.display(&source)));
    let plan = checked.and_then(|checked| Plan::new(&checked, &names).map_err(|error| error.to_string()));
    let plan = match (plan, expected) {
        (Ok(plan), _) => plan,
        (Err(_), None) => return Some(Ok(())),
        // Kubernetes never runs expressions that fail the check.
        (Err(_), Some(_)) if case["disable_check"] == true => return None,
        (Err(error), Some(_)) => return Some(Err(error)),
    };
    let evaluation = evaluate(&plan, &slots, &arena, u64::MAX, None);
    let work = StepBudget::default();
    Some(match (evaluation.result(), expected) {
        (Err(_), None) => Ok(()),
        (Err(error), Some(_)) => Err(error.to_string()),
        (Ok(value), None) => Err(format!("{} is no error", text(value))),
        (Ok(value), Some(expected)) => {
            let nan =
                matches!((value, expected), (Value::Double(a), Value::Double(b)) if a.is_nan() && b.is_nan());
            let equal = value.type_name() == expected.type_name()
                && matches!(equal(value, expected, &work), Ok(Value::Bool(true)));
            if equal || nan { Ok(()) } else { Err(format!("{}, expected {}", text(value), text(expected))) }
        }
    })
}

#[test]
fn supported_features_conform() {
    let mut report = Report::new("conformance");
    let mut foreign = 0;
    for case in fixtures::lines("conformance") {
        let field = |name: &str| case[name].as_str().unwrap_or("");
        let outcome = if UNSUPPORTED.contains(&field("file")) || !field("container").is_empty() {
            None
        } else {
            run(&case)
        };
        let Some(outcome) = outcome else {
            foreign += 1;
            continue;
        };
        report.count();
        if let Err(difference) = outcome {
            report.miss(&format!("{} {} {}", field("file"), field("name"), field("expr")), &difference);
        }
    }
    println!("{foreign} cases are about what Kubernetes does not have");
    report.finish();
}
