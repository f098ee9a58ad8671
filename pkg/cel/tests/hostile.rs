//! Hostile expressions: checking and estimating always terminate soon.

use cel::compile::{compile, options};
use cel::env::Environment;
use cel::estimate::{NoSizes, estimate};
use cel::types::Type;

fn environment() -> Environment {
    Environment::of_release(35).variable("x", Type::DYN)
}

/// Wraps a text in another one repeatedly.
fn nested(times: usize, inner: &str, around: impl Fn(usize, String) -> String) -> String {
    (0..times).fold(inner.to_owned(), |text, level| around(level, text))
}

/// Steps are counted, so the test needs no clock: without the limit these would never end.
#[test]
fn doubling_types_are_rejected() {
    let doubling = nested(60, "x60", |level, text| {
        let this = 60 - level;
        let before = 59 - level;
        format!("[{{x{before}: x{before}}}].map(x{this}, {text})")
    });
    let text = doubling.replace("{x0: x0}", "{1: 1}").replace("x-1", "1");
    let result = compile(&environment(), &text);
    assert!(result.is_err_and(
        |errors| errors.to_string().contains("too complex") || errors.to_string().contains("recursion")
    ));
}

#[test]
fn chains_of_type_variables_end() {
    for text in [
        format!("[{}]", vec!["[]"; 20_000].join(", ")),
        nested(120, "[]", |_, text| format!("[{text}, []]")),
        nested(80, "[]", |_, text| format!("({text} == [])")),
        format!("{{{}}}", (0..10_000).map(|n| format!("{n}: []")).collect::<Vec<_>>().join(", ")),
    ] {
        let checked = compile(&environment(), &text);
        if let Ok(checked) = checked {
            estimate(&checked, &mut NoSizes);
        }
    }
}

#[test]
fn estimates_of_nested_loops_saturate() {
    let text = nested(20, "true", |level, text| format!("x.all(v{level}, {text})"));
    let checked = compile(&environment(), &text).unwrap();
    assert_eq!(estimate(&checked, &mut NoSizes).max, u64::MAX);
}

#[test]
fn many_overloads_are_found_in_linear_time() {
    let text = vec!["x"; 200].join(" + ");
    let checked = compile(&environment(), &text).unwrap();
    assert_eq!(checked.types.text(checked.result()), "dyn");
    assert!(options(environment().libraries).optional_syntax);
}
