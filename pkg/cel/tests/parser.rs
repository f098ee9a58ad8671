//! The parser against recordings of cel-go's.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use cel::parser::{Macros, Options, parse};
use cel::print::{Item, print};
use cel::source::Source;
use cel::syntax::{Entry, Expr, Kind, Literal, Syntax};
use serde_json::Value;
use support::fixtures;

/// The options of a recorded case.
fn options(case: &Value) -> Options {
    let opts = &case["opts"];
    let number = |name: &str| opts[name].as_u64().unwrap() as usize;
    Options {
        optional_syntax: opts["optionalSyntax"] == true,
        escaped_identifiers: opts["identEscape"] == true,
        accumulator: if opts["hiddenAccumulator"] == true { "@result" } else { "__result__" },
        max_depth: number("maxRecursionDepth") as u32,
        max_code_points: number("expressionSizeCodePointLimit"),
        max_reports: number("errorReportingLimit"),
        max_recoveries: number("errorRecoveryLimit"),
        max_recovery_tokens: number("errorRecoveryTokenLookaheadLimit"),
        ..Options::new(Macros::STANDARD.with(Macros::EXISTS_ONE))
    }
}

/// The name that Go's printout gives a node's kind.
fn go_kind(syntax: &Syntax, expr: Expr) -> &'static str {
    match syntax.kind(expr) {
        Kind::Literal(Literal::Null) => "*expr.Constant_NullValue",
        Kind::Literal(Literal::Bool(_)) => "*expr.Constant_BoolValue",
        Kind::Literal(Literal::Int(_)) => "*expr.Constant_Int64Value",
        Kind::Literal(Literal::Uint(_)) => "*expr.Constant_Uint64Value",
        Kind::Literal(Literal::Double(_)) => "*expr.Constant_DoubleValue",
        Kind::Literal(Literal::String(_)) => "*expr.Constant_StringValue",
        Kind::Literal(Literal::Bytes(_)) => "*expr.Constant_BytesValue",
        Kind::Ident(_) => "*expr.Expr_IdentExpr",
        Kind::Select { .. } => "*expr.Expr_SelectExpr",
        Kind::Call { .. } => "*expr.Expr_CallExpr",
        Kind::List { .. } => "*expr.Expr_ListExpr",
        Kind::Map(_) | Kind::Struct { .. } => "*expr.Expr_StructExpr",
        Kind::Comprehension(_) => "*expr.Expr_ComprehensionExpr",
    }
}

fn with_ids(syntax: &Syntax) -> String {
    print(syntax, &|item| match item {
        Item::Expr(expr) => format!("^#{}:{}#", syntax.node(expr).id, go_kind(syntax, expr)),
        Item::Entry(Entry { id, .. }) => format!("^#{id}:*expr.Expr_CreateStruct_Entry#"),
    })
}

fn with_locations(syntax: &Syntax, source: &Source<'_>) -> String {
    let location = |id: i64, offset: u32| {
        let location = source.location(offset as i32);
        format!("^#{id}[{},{}]#", location.line, location.column)
    };
    print(syntax, &|item| match item {
        Item::Expr(expr) => location(syntax.node(expr).id, syntax.node(expr).offset),
        Item::Entry(entry) => location(entry.id, entry.offset),
    })
}

#[test]
fn recorded_expressions_parse_to_the_same_tree_or_the_same_errors() {
    let mut wrong = Vec::new();
    for case in fixtures::lines("parse") {
        let text = case["expr"].as_str().unwrap();
        let source = Source::new(text);
        let (what, expected, found) = match parse(&source, &options(&case)) {
            Ok(syntax) if case["ast"] == with_ids(&syntax).as_str() => {
                ("locations", &case["locations"], with_locations(&syntax, &source))
            }
            Ok(syntax) => ("ast", &case["ast"], with_ids(&syntax)),
            Err(_) if case["errors"].is_string() => continue,
            Err(errors) => ("errors", &case["errors"], errors.display(&source)),
        };
        if *expected != found.as_str() {
            let expected = expected.as_str().unwrap_or("something else");
            wrong.push(format!("{text}\n--- recorded {what}\n{expected}\n--- found\n{found}\n"));
        }
    }
    assert!(wrong.is_empty(), "{} cases\n{}", wrong.len(), wrong.join("\n"));
}
