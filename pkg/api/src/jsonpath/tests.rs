//! `testdata/jsonpath.jsonl` is what upstream's package makes of paths: an error of the parser, `null` where the path
//! fails, else what each part selects, printed.
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

/// As the recorded results are written.
fn outcome(path: &str, object: &Object) -> Value {
    let path = match JsonPath::of(path) {
        Ok(path) => path,
        Err(error) => return error.to_string().into(),
    };
    let found = path.find(object, &mut EvaluationBudget::default());
    let texts = |part: Vec<SelectedValue<'_>>| part.into_iter().map(SelectedValue::text).collect::<Value>();
    found.map_or(Value::Null, |parts| parts.into_iter().map(texts).collect())
}

/// Go walks objects in no order, ours in that of names.
fn in_any_order(mut value: Value) -> Value {
    for part in value.as_array_mut().into_iter().flatten().filter_map(Value::as_array_mut) {
        part.sort_by_cached_key(Value::to_string);
    }
    value
}

#[test]
fn paths_select_what_upstreams_select() {
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
fn the_first_value_of_the_first_part_is_what_printers_show() {
    let first = |path: &str| {
        let path = JsonPath::of(path).unwrap();
        path.first(&object(), &mut EvaluationBudget::default()).map(|found| found.map(SelectedValue::text))
    };
    assert_eq!(first(".spec.list[*]"), Ok(Some("1".to_owned())));
    assert_eq!(first(".spec.n} and {.spec.t"), Ok(Some("3".to_owned())));
    assert_eq!(first(".nope} and {.spec.t"), Ok(None));
    assert!(first(".spec.n}{.spec.n[0]").is_err());
}

/// `levels` objects in one another.
fn nested(levels: usize) -> Object {
    let within = |inner| Object::from_iter([("a".to_owned(), Value::Object(inner))]);
    (0..levels).fold(within(Object::new()), |inner, _| within(inner))
}

#[test]
fn repeated_descents_end_when_their_work_is_spent() {
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
fn a_filter_that_runs_out_of_work_fails_instead_of_passing_nothing() {
    let items: Vec<Value> = (0..1_000).map(|_| Value::Object(nested(100))).collect();
    let object = Object::from_iter([("items".to_owned(), Value::from(items))]);
    let path = JsonPath::of(".items[?(@..a..a)]").unwrap();
    assert!(path.find(&object, &mut EvaluationBudget::default()).is_err());
}

#[test]
fn the_stack_does_not_grow_with_the_depth_of_objects() {
    let object = nested(5_000);
    let path = JsonPath::of("..a").unwrap();
    assert_eq!(path.find(&object, &mut EvaluationBudget::default()).unwrap()[0].len(), 5_001);
    // Dropping what is that deep takes stack, which this test is not about.
    std::mem::forget(object);
}

#[test]
fn a_path_has_no_more_steps_than_anybody_needs() {
    assert!(JsonPath::of(&".a".repeat(JsonPath::STEPS_MAX - 1)).is_ok());
    assert_eq!(JsonPath::of(&".a".repeat(JsonPath::STEPS_MAX)), Err(ParseError::TooLong));
    assert_eq!(JsonPath::of(&"[0,1]".repeat(JsonPath::STEPS_MAX)), Err(ParseError::TooLong));
}
