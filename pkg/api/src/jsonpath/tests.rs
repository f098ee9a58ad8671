//! `testdata/jsonpath.jsonl` contains upstream's results for paths: a parser error, `null` for a failed
//! evaluation, or the printed values of each part.
#![allow(clippy::unwrap_used)]

use super::*;
use jsontree::Value;

fn object() -> Object {
    let text = r#"{
        "metadata":{"name":"w","labels":{"a.b/c":"dotted","x":"y"}},
        "spec":{"n":3,"f":2.5,"big":1234567.0,"t":true,"nul":null,"text":"hi","html":"<&>","empty":[],
            "list":[1,2,3,4],"names":["a","b"],"nested":[[1,2],[3]],"obj":{"z":1,"a":"<b>"}},
        "status":{"conditions":[{"type":"Ready","status":"True","n":1},
            {"type":"Synced","status":"False","n":2,"extra":"e"},{"type":"it's","n":2.5}]}}"#;
    serde_json::from_str(text).unwrap()
}

/// Returns the result in the format of the recorded ones.
fn outcome(path: &str, object: &Object) -> Value {
    let path = match JsonPath::of(path) {
        Ok(path) => path,
        Err(error) => return error.to_string().into(),
    };
    let values = path.find(object, &mut EvaluationBudget::default());
    let texts = |part: Vec<SelectedValue<'_>>| part.into_iter().map(SelectedValue::text).collect::<Value>();
    values.map_or(Value::Null, |parts| parts.into_iter().map(texts).collect())
}

/// Go iterates over objects in random order, this code by name.
fn in_any_order(mut value: Value) -> Value {
    for part in value.as_array_mut().into_iter().flatten().filter_map(Value::as_array_mut) {
        part.sort_by_cached_key(Value::to_string);
    }
    value
}

#[test]
fn paths_match_upstream() {
    let object = object();
    let lines = include_str!("../../testdata/jsonpath.jsonl").lines();
    let mut compared = 0;
    for line in lines {
        let (path, want): (String, Value) = serde_json::from_str(line).unwrap();
        let got = outcome(&path, &object);
        let ordered = !(path.contains("..") || path.contains(".*"));
        if ordered {
            assert_eq!(got, want, "{path}")
        } else {
            assert_eq!(in_any_order(got), in_any_order(want), "{path}")
        }
        compared += 1;
    }
    assert!(compared > 100, "{compared}");
}

#[test]
fn loops_are_read_and_select_nothing() {
    assert_eq!(outcome("range .spec.list[*]}{.}{end", &object()), Value::Null);
}

#[test]
fn printers_show_first_value_of_first_part() {
    let first = |path: &str| {
        let path = JsonPath::of(path).unwrap();
        path.first(&object(), &mut EvaluationBudget::default()).map(|value| value.map(SelectedValue::text))
    };
    assert_eq!(first(".spec.list[*]"), Ok(Some("1".to_owned())));
    assert_eq!(first(".spec.n} and {.spec.t"), Ok(Some("3".to_owned())));
    assert_eq!(first(".nope} and {.spec.t"), Ok(None));
    assert!(first(".spec.n}{.spec.n[0]").is_err());
}

/// Returns `levels` nested objects.
fn nested(levels: usize) -> Object {
    let within = |inner| Object::from_iter([("a".to_owned(), Value::Object(inner))]);
    (0..levels).fold(within(Object::new()), |inner, _| within(inner))
}

#[test]
fn repeated_descents_stop_at_the_budget() {
    let object = nested(100);
    let path = JsonPath::of(&"..a".repeat(8)).unwrap();
    let mut work = EvaluationBudget::default();
    assert!(path.find(&object, &mut work).is_err());
    assert!(
        JsonPath::of(".a").unwrap().find(&object, &mut work).is_err(),
        "nothing is left for the next one"
    );
}

#[test]
fn filter_over_budget_fails() {
    let items: Vec<Value> = (0..1_000).map(|_| Value::Object(nested(100))).collect();
    let object = Object::from_iter([("items".to_owned(), Value::from(items))]);
    let path = JsonPath::of(".items[?(@..a..a)]").unwrap();
    assert!(path.find(&object, &mut EvaluationBudget::default()).is_err());
}

#[test]
fn stack_use_is_independent_of_depth() {
    let object = nested(5_000);
    let path = JsonPath::of("..a").unwrap();
    assert_eq!(path.find(&object, &mut EvaluationBudget::default()).unwrap()[0].len(), 5_001);
    // Dropping such a deep object needs stack, which is not the subject of this test.
    std::mem::forget(object);
}

#[test]
fn path_length_is_limited() {
    assert!(JsonPath::of(&".a".repeat(JsonPath::STEPS_MAX - 1)).is_ok());
    assert_eq!(JsonPath::of(&".a".repeat(JsonPath::STEPS_MAX)), Err(ParseError::TooLong));
    assert_eq!(JsonPath::of(&"[0,1]".repeat(JsonPath::STEPS_MAX)), Err(ParseError::TooLong));
}
