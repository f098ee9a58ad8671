//! Texts of errors that depend on where a value comes from, as cel-go v0.26 writes them.

#![allow(clippy::unwrap_used)]

use cel::arena::Arena;
use cel::compile::compile;
use cel::env::Environment;
use cel::eval::{PER_CALL_LIMIT, evaluate};
use cel::plan::Plan;
use cel::types::Type;
use cel::value::{Value, text};
use jsontree::json;

/// The text of the error that an expression about `o` ends with, or of its value.
fn outcome(expression: &str) -> String {
    let env = Environment::of_release(36).variable("o", Type::DYN);
    let checked = match compile(&env, expression) {
        Ok(checked) => checked,
        Err(errors) => return errors,
    };
    let object = json!({"m": {"k": "v"}, "t": ["a"], "b": false, "n": {"p": [{"q": 1}]}});
    let plan = Plan::new(&checked, &["o"]).unwrap();
    let arena = Arena::new();
    let evaluation = evaluate(&plan, &[Some(Value::tree(&object))], &arena, PER_CALL_LIMIT, None);
    evaluation.result().map_or_else(|error| error, text)
}

#[test]
fn a_duration_of_an_integer_literal_is_refused_by_the_compiler() {
    let expected = "ERROR: <input>:1:10: invalid duration argument\n | duration(1)\n | .........^";
    assert_eq!(outcome("duration(1)"), expected);
}

#[test]
fn sort_by_says_the_function_that_it_stands_for() {
    assert_eq!(outcome("o.m.sortBy(i, 1)"), "no such overload: @sortByAssociatedKeys");
    assert_eq!(outcome("o.m.sort()"), "no such overload: sort");
}

#[test]
fn a_key_of_the_hosts_has_gos_type_through_a_ternary_too() {
    assert_eq!(outcome("{}[o.b ? 'a' : o.t]"), "invalid qualifier type: []interface {}");
    assert_eq!(outcome("{}[o.b ? 'a' : o.m]"), "invalid qualifier type: map[string]interface {}");
}

#[test]
fn elements_of_the_hosts_lists_are_written_as_gos_values() {
    let expected = "cannot initialize optional entry 'k' from non-optional value {p: [map[q:1]]}";
    assert_eq!(outcome("{?'k': o.n.or(optional.none())}"), expected);
}

#[test]
fn an_optional_value_in_another_is_lost_in_a_ternary() {
    assert_eq!(outcome("o.?b.optMap(i, optional.none())"), "optional(0)");
    assert_eq!(outcome("o.?b.optMap(i, optional.of(1))"), "optional(1)");
}
