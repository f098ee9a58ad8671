//! The parser compared with recordings of cel-go's.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::support::fixtures;
use cel::parser::{Macros, Options, parse};
use cel::print::{Item, print};
use cel::source::Source;
use cel::syntax::{Entry, Expr, Kind, Literal, Syntax};
use jsontree::Value;

/// Returns the options of a recorded case.
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

/// Returns the name of a node kind in Go's printout.
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
fn recorded_expressions_parse_the_same() {
    let mut wrong = Vec::new();
    for case in fixtures::lines("parse") {
        let text = case["expr"].as_str().unwrap();
        let source = Source::new(text);
        let (output_kind, expected, actual) = match parse(&source, &options(&case)) {
            Ok(syntax) if case["ast"] == with_ids(&syntax).as_str() => {
                ("locations", &case["locations"], with_locations(&syntax, &source))
            }
            Ok(syntax) => ("ast", &case["ast"], with_ids(&syntax)),
            Err(errors) => ("errors", &case["errors"], errors.display(&source)),
        };
        if *expected != actual.as_str() {
            let expected = expected.as_str().unwrap_or("something else");
            wrong.push(format!("{text}\n--- recorded {output_kind}\n{expected}\n--- found\n{actual}\n"));
        }
    }
    assert!(wrong.is_empty(), "{} cases\n{}", wrong.len(), wrong.join("\n"));
}

/// Returns the syntax options that Kubernetes enables.
fn kubernetes() -> Options {
    let macros = Macros::STANDARD.with(Macros::OPTIONAL).with(Macros::TWO_VARIABLE).with(Macros::SORT_BY);
    Options::new(macros)
}

#[test]
fn recorded_compilations_have_the_same_syntax_errors() {
    let environments = fixtures::table("envs");
    let mut compared = 0;
    for case in fixtures::lines("compile") {
        let issues = case["issues"].as_str().unwrap_or_default();
        let source = Source::new(case["expr"].as_str().unwrap());
        let options = fixtures::parser_options(&environments[case["env"].as_str().unwrap()]);
        match parse(&source, &options) {
            Err(errors) => assert_eq!(errors.display(&source), issues),
            Ok(_) => assert!(!issues.contains("Syntax error"), "{}: {issues}", source.text()),
        }
        compared += usize::from(issues.contains("Syntax error"));
    }
    assert!(compared > 15, "{compared}");
}

#[test]
fn conformance_expressions_parse() {
    // Kubernetes lacks the macros of these extensions.
    let foreign = ["block_ext"];
    for case in fixtures::lines("conformance") {
        let source = Source::new(case["expr"].as_str().unwrap());
        let options =
            Options { escaped_identifiers: true, ..Options::new(kubernetes().macros.with(Macros::BIND)) };
        if let Err(errors) = parse(&source, &options) {
            assert!(foreign.contains(&case["file"].as_str().unwrap()), "{}", errors.display(&source));
        }
    }
}

/// Pseudo-random numbers for a seeded test.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }
}

#[test]
fn mutated_expressions_parse_or_fail_with_errors() {
    let texts: Vec<String> = fixtures::lines("compile")
        .iter()
        .step_by(7)
        .map(|case| case["expr"].as_str().unwrap().to_owned())
        .collect();
    let pieces = [
        "(", ")", "[", "]", "{", "}", ".", ",", "?", ":", "-", "!", "in", "'", "\"\"\"", "`", "\\", "1",
        "é😁", " ",
    ];
    let mut random = Random(7);
    for round in 0..3_000 {
        let mut chars: Vec<char> = texts[round % texts.len()].chars().take(300).collect();
        for _ in 0..1 + random.below(4) {
            let at = random.below(chars.len() + 1);
            let end = (at + random.below(3)).min(chars.len());
            let piece = pieces[random.below(pieces.len())].chars();
            chars.splice(at..end, piece);
        }
        let text: String = chars.into_iter().collect();
        let source = Source::new(&text);
        if let Err(errors) = parse(&source, &kubernetes()) {
            assert!(errors.display(&source).starts_with("ERROR: <input>:"), "{text}");
        }
    }
}

#[test]
fn nesting_is_bounded_and_costs_no_stack() {
    for open in ["(", "[", "{", "!(", "-(", "a.b(", "a[", "1+(", "{1:", "-1.f("] {
        let text = open.repeat(100_000 / open.len());
        let source = Source::new(&text);
        let errors = parse(&source, &kubernetes()).unwrap_err().display(&source);
        assert!(errors.contains("expression recursion limit exceeded: 250"), "{open}: {errors:.300}");
    }
}

#[test]
fn long_texts_are_rejected_before_parsing() {
    let text = "é".repeat(100_001);
    let source = Source::new(&text);
    let errors = parse(&source, &kubernetes()).unwrap_err().display(&source);
    let expected =
        "ERROR: <input>:-1:0: expression code point size exceeds limit: size: 100001, limit 100000";
    assert_eq!(errors, expected);
}

#[test]
fn missing_nodes_have_cel_go_locations() {
    let cases = [
        ("", "1:0: Syntax error: mismatched input '<EOF>' expecting {"),
        ("a.all(x, `y`, z)", "1:10: Syntax error: mismatched input '`y`' expecting {"),
        ("a.all(x, `y`, z)", "1:10: argument must be a simple name"),
        ("has(a.?)", "1:8: unsupported ident kind"),
        ("has(a.?)", "1:6: invalid argument to has() macro"),
    ];
    for (text, error) in cases {
        let source = Source::new(text);
        let errors = parse(&source, &kubernetes()).unwrap_err().display(&source);
        assert!(errors.contains(&format!("ERROR: <input>:{error}")), "{errors}");
    }
}

#[test]
fn copying_macros_are_bounded() {
    let text = format!("a{}", ".optMap(x, x)".repeat(60));
    let source = Source::new(&text);
    let errors = parse(&source, &kubernetes()).unwrap_err().display(&source);
    assert!(errors.contains("macro expansion exceeds limit: 200000 nodes"), "{errors}");
}
