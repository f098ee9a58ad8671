//! The type checker against recordings of cel-go's.

mod support;

use std::collections::HashMap;

use cel::check::check;
use cel::checked::{Checked, Reference};
use cel::env::Environment;
use cel::parser::{Options, parse};
use cel::print::{Item, print};
use cel::source::Source;
use cel::syntax::Kind;
use cel::types::Type;
use serde_json::Value;
use support::{environments, fixtures};

/// A checked tree as cel-go prints it: types behind `~`, references behind `^`.
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
            Kind::Ident(_) | Kind::Call { .. } | Kind::List { .. } | Kind::Struct { .. } | Kind::Select { .. }
        );
        match checked.reference(expr) {
            Reference::Variable(name) | Reference::Type(name) | Reference::Constant(name) if referable => {
                note += &format!("^{}", checked.syntax.name(name));
            }
            Reference::Overloads { .. } if referable => {
                let mut ids: Vec<&str> = checked.overloads(expr).iter().map(|overload| overload.id()).collect();
                ids.sort_unstable();
                note += &format!("^{}", ids.join("|"));
            }
            _ => {}
        }
        note
    })
}

/// The printed tree and the type, or the errors.
fn compile(env: &Environment, options: &Options, text: &str) -> Result<(String, String), String> {
    let source = Source::new(text);
    let syntax = parse(&source, options).map_err(|errors| errors.display(&source))?;
    let checked = check(env, syntax, &source).map_err(|errors| errors.display(&source))?;
    Ok((adorned(&checked), checked.types.runtime_name(checked.result()).to_owned()))
}

#[test]
fn expressions_compile_as_recorded() {
    let envs = fixtures::table("envs");
    let mut built: HashMap<(String, String), (Environment, Options)> = HashMap::new();
    let cases = fixtures::lines("compile");
    let (mut wrong, mut by_use) = (Vec::new(), HashMap::<&str, (usize, usize)>::new());
    for case in &cases {
        let field = |name: &str| case[name].as_str().unwrap();
        let key = (field("env").to_owned(), field("use").to_owned());
        let (env, options) =
            built.entry(key).or_insert_with(|| environments::environment(&envs[field("env")], field("use")));
        let found = compile(env, options, field("expr"));
        let matches = match (&found, case.get("issues").and_then(Value::as_str)) {
            (Ok((tree, _)), None) => case.get("checked").is_none_or(|checked| checked == tree),
            (Err(errors), Some(issues)) => errors == issues,
            _ => false,
        };
        let count = by_use.entry(field("use")).or_default();
        count.0 += 1;
        if !matches {
            count.1 += 1;
            wrong.push((case, found));
        }
    }
    for (case, found) in &wrong {
        println!("== {} {} {}", case["use"], case["env"], case["expr"]);
        println!("want: {}{}", case["issues"].as_str().unwrap_or(""), case["checked"].as_str().unwrap_or(""));
        println!("found: {}", found.as_ref().map_or_else(Clone::clone, |(tree, _)| tree.clone()));
    }
    println!("{} of {} differ {by_use:?}", wrong.len(), cases.len());
    assert!(wrong.is_empty());
}
