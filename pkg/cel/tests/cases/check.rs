//! The type checker compared with recordings of cel-go's.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::collections::HashMap;

use crate::support::report::Report;
use crate::support::{environments, fixtures};
use cel::check::check;
use cel::checked::{Checked, Reference};
use cel::env::Environment;
use cel::parser::{Options, parse};
use cel::print::{Item, print};
use cel::source::Source;
use cel::syntax::Kind;
use cel::types::Type;
use jsontree::Value;

use crate::Outcome;

/// Prints a checked tree like cel-go: types after `~`, references after `^`.
fn adorned(checked: &Checked) -> String {
    print(&checked.syntax, &|item| {
        let Item::Expr(expr) = item else { return String::new() };
        // The field of an optional selection is a literal that is not checked.
        if checked.type_of(expr) == Type::ERROR {
            return String::new();
        }
        let mut note = format!("~{}", checked.types.text(checked.type_of(expr)));
        let referable = matches!(
            checked.syntax.kind(expr),
            Kind::Ident(_)
                | Kind::Call { .. }
                | Kind::List { .. }
                | Kind::Struct { .. }
                | Kind::Select { .. }
        );
        match checked.reference(expr) {
            Reference::Variable(name) | Reference::Type(name) | Reference::Constant(name) if referable => {
                note += &format!("^{}", checked.syntax.name(name));
            }
            Reference::Overloads { .. } if referable => {
                let mut ids: Vec<&str> =
                    checked.overloads(expr).iter().map(|overload| overload.id()).collect();
                ids.sort_unstable();
                note += &format!("^{}", ids.join("|"));
            }
            _ => {}
        }
        note
    })
}

/// Returns the printed tree, or the errors.
fn compile(env: &Environment, options: &Options, text: &str) -> Outcome<String> {
    let source = Source::new(text);
    let syntax = parse(&source, options).map_err(|errors| errors.display(&source))?;
    let checked = check(env, syntax, &source).map_err(|errors| errors.display(&source))?;
    Ok(adorned(&checked))
}

#[test]
fn expressions_compile_as_recorded() {
    let envs = fixtures::table("envs");
    let sets = fixtures::table("function_sets");
    let mut built: HashMap<(String, String), (Environment, Options)> = HashMap::new();
    let mut report = Report::new("compile");
    for case in fixtures::lines("compile") {
        let field = |name: &str| case[name].as_str().unwrap();
        let key = (field("env").to_owned(), field("use").to_owned());
        let (env, options) = built.entry(key).or_insert_with(|| {
            let env = &envs[field("env")];
            environments::environment(env, field("use"), &environments::functions(env, &sets))
        });
        let actual = compile(env, options, field("expr"));
        let expected =
            (case.get("issues").and_then(Value::as_str), case.get("checked").and_then(Value::as_str));
        let matches = match (&actual, expected) {
            (Ok(tree), (None, checked)) => checked.is_none_or(|checked| checked == tree),
            (Err(errors), (Some(issues), _)) => errors == issues,
            _ => false,
        };
        if !matches {
            let expected = expected.0.or(expected.1).unwrap_or("");
            let actual = actual.unwrap_or_else(|errors| errors);
            report.miss(
                &format!("{} {}", field("env"), field("expr")),
                &format!("{}\nwant: {expected}\nfound: {actual}", field("use")),
            );
        }
        report.count();
    }
    report.finish();
}

/// cel-go's own tests of its checker.
#[test]
fn types_are_checked_as_recorded() {
    let mut report = Report::new("check");
    for case in fixtures::lines("check") {
        let field = |name: &str| case[name].as_str();
        let (env, options) = environments::of_checker(&case);
        let text = field("expr").unwrap();
        let actual = compile(&env, &options, text);
        let matches = match (&actual, field("errors"), field("checked")) {
            (Ok(tree), None, Some(checked)) => checked == tree,
            (Err(errors), Some(expected_errors), _) => errors == expected_errors,
            _ => false,
        };
        if !matches {
            let expected = field("errors").or(field("checked")).unwrap_or("");
            let variadic = if case["variadicASTs"] == true { " (variadic)" } else { "" };
            report.miss(
                &format!("{text}{variadic}"),
                &format!("want: {expected}\nfound: {}", actual.unwrap_or_else(|errors| errors)),
            );
        }
        report.count();
    }
    report.finish();
}
