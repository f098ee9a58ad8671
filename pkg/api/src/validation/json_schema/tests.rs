//! Claims about values and schemas.

use super::*;
use serde_json::json;

fn check(schema: Value, value: Value, expected: &[&str]) {
    let object = schema.as_object().cloned().unwrap_or_default();
    let found = faults(&Path::root("d"), &object, &value);
    assert_eq!(found.iter().map(Error::to_string).collect::<Vec<_>>(), expected, "{schema} {value}");
}

#[test]
fn values_have_their_types() {
    let typed = |kind: &str| json!({"type": kind});
    check(typed("string"), json!("a"), &[]);
    check(typed("number"), json!(1), &[]);
    check(typed("integer"), json!(1.0), &[]);
    check(
        typed("string"),
        json!(1),
        &["d: Invalid value: \"integer\":  in body must be of type string: \"integer\""],
    );
    check(
        typed("integer"),
        json!("1"),
        &["d: Invalid value: \"string\":  in body must be of type integer: \"string\""],
    );
    check(
        typed("object"),
        Value::Null,
        &["d: Invalid value: \"null\":  in body must be of type object: \"null\""],
    );
    check(json!({"type": "object", "nullable": true}), Value::Null, &[]);
    check(json!({}), json!([{"a": 1}]), &[]);
}

#[test]
fn numbers_keep_within_bounds() {
    let integer = |rest: Value| {
        let mut schema = json!({"type": "integer"});
        if let (Some(schema), Value::Object(rest)) = (schema.as_object_mut(), rest) {
            schema.extend(rest);
        }
        schema
    };
    check(integer(json!({"minimum": 5})), json!(5), &[]);
    check(
        integer(json!({"minimum": 5})),
        json!(1),
        &["d: Invalid value: 1:  in body should be greater than or equal to 5"],
    );
    check(
        integer(json!({"maximum": 1.5})),
        json!(3),
        &[
            "d: Invalid value: \"\": Maximum boundary value must be of type integer (default format) in ",
            "d: Invalid value: 3:  in body should be less than or equal to 1.5",
        ],
    );
    check(
        integer(json!({"maximum": 3, "exclusiveMaximum": true})),
        json!(3),
        &["d: Invalid value: 3:  in body should be less than 3"],
    );
    check(
        integer(json!({"multipleOf": 2})),
        json!(3),
        &["d: Invalid value: 3:  in body should be a multiple of 2"],
    );
    check(
        integer(json!({"format": "int32"})),
        json!(3_000_000_000_i64),
        &["d: Invalid value: \"\": Checked value must be of type integer with format int32 in "],
    );
    check(json!({"type": "number", "multipleOf": 0.5}), json!(1.5), &[]);
}

#[test]
fn members_and_items_are_judged_too() {
    let schema = json!({
        "type": "object", "required": ["a"], "maxProperties": 2,
        "properties": {"b": {"type": "array", "minItems": 2, "items": {"type": "string", "minLength": 2}}},
        "additionalProperties": {"type": "boolean"},
    });
    check(schema.clone(), json!({"a": true, "b": ["xx", "yy"]}), &[]);
    check(
        schema.clone(),
        json!({"b": ["x"]}),
        &[
            "d.b[0]: Invalid value: \"x\": b[0] in body should be at least 2 chars long",
            "d.b: Invalid value: 1: b in body should have at least 2 items",
            "d.a: Required value",
        ],
    );
    check(
        schema,
        json!({"a": 1, "c": true, "e": true}),
        &[
            "d: Too many: 3: must have at most 2 items",
            "d.a: Invalid value: \"integer\": a in body must be of type boolean: \"integer\"",
        ],
    );
    check(
        json!({"enum": ["\"a\"", "1"]}),
        json!("b"),
        &["d: Unsupported value: \"b\": supported values: \"a\", \"1\""],
    );
    check(json!({"maxLength": 1}), json!("éé"), &["d: Too long: may not be more than 1 byte"]);
}

#[test]
fn alternatives_are_counted() {
    let (short, long) = (json!({"maxLength": 2}), json!({"minLength": 2}));
    check(json!({"anyOf": [short, long], "oneOf": [short, long]}), json!("x"), &[]);
    check(
        json!({"oneOf": [short, long]}),
        json!("xx"),
        &[
            "d: Invalid value: \"\": \"\" must validate one and only one schema (oneOf). Found 2 valid alternatives",
        ],
    );
    check(
        json!({"anyOf": [{"type": "integer"}]}),
        json!("x"),
        &[
            "d: Invalid value: \"\": \"\" must validate at least one schema (anyOf)",
            "d: Invalid value: \"string\":  in body must be of type integer: \"string\"",
        ],
    );
    check(
        json!({"allOf": [{"minLength": 2}], "not": {"maxLength": 5}}),
        json!("x"),
        &[
            "d: Invalid value: \"x\":  in body should be at least 2 chars long",
            "d: Invalid value: \"\": \"\" must validate all the schemas (allOf). None validated",
            "d: Invalid value: \"\": \"\" must not validate the schema (not)",
        ],
    );
}
