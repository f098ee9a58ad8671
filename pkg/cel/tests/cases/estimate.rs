//! Cost estimates compared with recordings of upstream's.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::collections::HashMap;

use crate::support::report::Report;
use crate::support::{environments, fixtures};
use cel::check::check;
use cel::declared::{Builder, Declared, DeclaredSizes, REQUEST_BYTES_MAX};
use cel::estimate::{DataPosition, NoSizes, Range, Segment, Sizes, estimate, estimate_with};
use cel::parser::parse;
use cel::source::Source;
use cel::types::{Type, Types};
use jsontree::{Object, Value};

use crate::Outcome;

/// Declarations of a recorded environment, by type name.
struct Recorded<'a> {
    types: &'a Object,
    builder: Builder,
}

impl Recorded<'_> {
    /// Returns the declaration at a path. Its type, maximum size and minimum serialized size are recorded at
    /// each use.
    fn place(&mut self, path: &str, row: &[Value]) -> DataPosition {
        let [ty, max, min] = row else { panic!("{row:?}") };
        let text = ty.as_str().unwrap();
        let max = max.as_i64().unwrap() as u64;
        let min = min.as_u64().unwrap();
        let recorded_type = self
            .types
            .get(path)
            .or_else(|| self.types.get(text).filter(|recorded_type| recorded_type.get("fields").is_some()));
        let Some(recorded_type) = recorded_type else {
            let ty = environments::parse_type(self.builder.types(), text);
            return self.builder.simple(ty, max, min);
        };
        if let Some(fields) = recorded_type.get("fields").and_then(Value::as_object) {
            let fields: Vec<(String, DataPosition)> = fields
                .iter()
                .map(|(name, row)| {
                    let row = row.as_array().unwrap();
                    let row = [row[0].clone(), row[2].clone(), row[3].clone()];
                    (name.to_string(), self.place(&format!("{text}.{name}"), &row))
                })
                .collect();
            return self.builder.object(text, fields, min);
        }
        let max = recorded_type["max"].as_i64().unwrap() as u64;
        let element = recorded_type["elem"].as_array().unwrap();
        match recorded_type.get("key").and_then(Value::as_array) {
            Some(key) => {
                let key = self.place("", key);
                let value = self.place(&format!("{path}.@elem"), element);
                let map = self.builder.map(key, value, max);
                if path == "kubernetes.DRADevice.attributes.@elem" {
                    self.builder.select_values(map);
                }
                map
            }
            None => {
                let element = self.place(&format!("{path}.@idx"), element);
                self.builder.list(element, max)
            }
        }
    }
}

/// Returns the declaration of a variable. Sizes of non-object variables are not recorded; those of a schema
/// without limits are used.
fn declared(env: &Value, variable: &str) -> Option<(Declared, DataPosition)> {
    let ty = env["vars"].get(variable)?.as_str()?;
    let nothing = Object::new();
    let types = env.get("types").and_then(Value::as_object).unwrap_or(&nothing);
    let mut recorded = Recorded { types, builder: Builder::new() };
    let root = match types.iter().find(|(_, recorded_type)| recorded_type["type"] == ty) {
        Some((path, recorded_type)) => {
            recorded.place(path, &[ty.into(), recorded_type["max"].clone(), recorded_type["min"].clone()])
        }
        None => {
            let parsed = environments::parse_type(recorded.builder.types(), ty);
            let max =
                if let Type::STRING | Type::BYTES | Type::DYN = parsed { REQUEST_BYTES_MAX - 2 } else { 0 };
            recorded.builder.simple(parsed, max, 0)
        }
    };
    Some((recorded.builder.finish(31), root))
}

#[test]
fn costs_are_estimated_as_recorded() {
    let envs = fixtures::table("envs");
    let sets = fixtures::table("function_sets");
    let mut report = Report::new("estimate");
    for case in fixtures::lines("estimate") {
        let field = |name: &str| case[name].as_str().unwrap();
        let expected = Range { min: field("min").parse().unwrap(), max: field("max").parse().unwrap() };
        let actual = estimate_case(&envs[field("env")], &sets, &case);
        if actual.as_ref().ok() != Some(&expected) {
            report.miss(
                &format!("{} {}", field("env"), field("expr")),
                &format!("want {expected:?}, found {actual:?}"),
            );
        }
        report.count();
    }
    report.finish();
}

fn estimate_case(env: &Value, sets: &HashMap<String, Value>, case: &Value) -> Outcome<Range> {
    let field = |name: &str| case[name].as_str().unwrap();
    let (built, options) = environments::environment(env, field("use"), &environments::functions(env, sets));
    let source = Source::new(field("expr"));
    let syntax = parse(&source, &options).map_err(|errors| errors.display(&source))?;
    let checked = check(&built, syntax, &source).map_err(|errors| errors.display(&source))?;
    let variable = if field("use") == "dra" { "device" } else { "self" };
    let sized = matches!(field("use"), "dra" | "crd" | "crd-api-validation");
    match declared(env, variable).filter(|_| sized) {
        Some((declared, root)) => {
            let variable = (field("use") == "dra").then_some(variable);
            Ok(estimate(&checked, &mut DeclaredSizes { declared: &declared, root, variable }))
        }
        None => Ok(estimate(&checked, &mut NoSizes)),
    }
}

/// Sizes that a test of cel-go states by path, with segments joined by dots.
struct Hints<'a> {
    hints: &'a Object,
    paths: Vec<String>,
}

impl Hints<'_> {
    fn add(&mut self, path: String) -> Option<DataPosition> {
        self.paths.push(path);
        Some(DataPosition(self.paths.len() as u32 - 1))
    }
}

fn step(segment: Segment<'_>) -> &str {
    match segment {
        Segment::Name(name) => name,
        Segment::Items => "@items",
        Segment::Indices => "@indices",
        Segment::Keys => "@keys",
        Segment::Values => "@values",
    }
}

impl Sizes for Hints<'_> {
    fn root(&mut self, first: Segment<'_>) -> Option<DataPosition> {
        self.add(step(first).to_owned())
    }

    fn step(&mut self, position: DataPosition, segment: Segment<'_>) -> Option<DataPosition> {
        let path = format!("{}.{}", self.paths[position.0 as usize], step(segment));
        self.add(path)
    }

    fn size(&mut self, position: Option<DataPosition>, _: &Types, _: Type) -> Option<Range> {
        let max = self.hints.get(&self.paths[position?.0 as usize])?.as_u64()?;
        Some(Range { min: 0, max })
    }
}

/// cel-go's own tests of its estimates, without Kubernetes' rules.
#[test]
fn plain_costs_are_estimated_as_recorded() {
    let mut report = Report::new("cost");
    for case in fixtures::lines("cost") {
        let field = |name: &str| case[name].as_str().unwrap();
        let (env, options) = environments::of_checker(&case);
        let source = Source::new(field("expr"));
        let expected = Range { min: field("min").parse().unwrap(), max: field("max").parse().unwrap() };
        let actual =
            parse(&source, &options).and_then(|syntax| check(&env, syntax, &source)).map(|checked| {
                let mut hints = Hints { hints: case["hints"].as_object().unwrap(), paths: Vec::new() };
                let presence = Range::fixed(case["presenceTestCost"].as_u64().unwrap());
                estimate_with(&checked, &mut hints, presence, false)
            });
        if actual.as_ref().ok() != Some(&expected) {
            let actual = actual.map_err(|errors| errors.display(&source));
            report.miss(field("expr"), &format!("want {expected:?}, found {actual:?}"));
        }
        report.count();
    }
    report.finish();
}
