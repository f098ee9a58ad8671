//! Error texts that depend on the source of a value, compared with cel-go v0.29.

#![allow(clippy::unwrap_used)]

use cel::arena::Arena;
use cel::compile::compile;
use cel::env::Environment;
use cel::eval::{PER_CALL_LIMIT, evaluate};
use cel::plan::Plan;
use cel::types::Type;
use cel::value::{Value, text};
use jsontree::json;

/// Returns the text of the error or the value of an expression about `o`.
fn outcome(expression: &str) -> String {
    let env = Environment::of_release(36).variable("o", Type::DYN);
    let checked = match compile(&env, expression) {
        Ok(checked) => checked,
        Err(errors) => return errors.to_string(),
    };
    let object = json!({"m": {"k": "v"}, "t": ["a"], "b": false, "n": {"p": [{"q": 1}]}});
    let plan = Plan::new(&checked, &["o"]).unwrap();
    let arena = Arena::new();
    let evaluation = evaluate(&plan, &[Some(Value::tree(&object))], &arena, PER_CALL_LIMIT, None);
    evaluation.result().map_or_else(|error| error.to_string(), text)
}

#[test]
fn duration_of_integer_is_compile_error() {
    let expected = "ERROR: <input>:1:9: found no matching overload for 'duration' applied to '(int)'\n | duration(1)\n | ........^";
    assert_eq!(outcome("duration(1)"), expected);
}

#[test]
fn sort_by_error_names_the_expanded_function() {
    assert_eq!(outcome("o.m.sortBy(i, 1)"), "no such overload: @sortByAssociatedKeys");
    assert_eq!(outcome("o.m.sort()"), "no such overload: sort");
}

#[test]
fn host_key_keeps_go_type_through_ternary() {
    assert_eq!(outcome("{}[o.b ? 'a' : o.t]"), "invalid qualifier type: []interface {}");
    assert_eq!(outcome("{}[o.b ? 'a' : o.m]"), "invalid qualifier type: map[string]interface {}");
}

#[test]
fn host_list_elements_use_go_format() {
    let expected = "cannot initialize optional entry 'k' from non-optional value {p: [map[q:1]]}";
    assert_eq!(outcome("{?'k': o.n.or(optional.none())}"), expected);
}

#[test]
fn optional_keeps_nested_optional() {
    assert_eq!(outcome("o.?b.optMap(i, optional.none())"), "optional(optional.none())");
    assert_eq!(outcome("o.?b.optMap(i, optional.of(1))"), "optional(optional(1))");
}
