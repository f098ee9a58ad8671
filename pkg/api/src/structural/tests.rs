//! Tests of values and schemas.

use apimachinery::field::Error;
use jsontree::json;

use super::*;

fn check(schema: Value, value: Value, expected: &[&str]) {
    let object = schema.as_object().cloned().unwrap_or_default();
    let errors = faults(&Path::root("d"), &Node::compile(&object, Literals::Texts), &value);
    assert_eq!(errors.iter().map(Error::to_string).collect::<Vec<_>>(), expected, "{schema} {value}");
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
fn members_and_items_are_validated() {
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
            "d.a: Invalid value: \"integer\": .a in body must be of type boolean: \"integer\"",
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
fn enumerated_values_are_converted_like_go() {
    let check = |literal: &str, value: &str, is_allowed: bool| {
        let node = Node::compile(&object(json!({"enum": [literal]})), Literals::Texts);
        let value = schema::json::decode_untyped(value.as_bytes()).unwrap().value;
        assert_eq!(faults(&Path::root("d"), &node, &value).is_empty(), is_allowed, "{literal} {value}");
    };
    check("2", "2.0", true);
    check("2", "2.5", true);
    check("2.0", "2.5", true);
    check("2.5", "2", false);
    check("0", "-0.5", true);
    check("-9223372036854775808", "1e30", true);
    check("9007199254740993", "9007199254740992", false);
    check("\"A\"", "65", true);
    check("\"A\"", "65.0", false);
    check("\"\u{fffd}\"", "-1", true);
    check("[1]", "[1]", true);
    check("[1]", "[1.0]", false);
}

#[test]
fn alternatives_are_counted() {
    let short = json!({"maxLength": 2});
    let long = json!({"minLength": 2});
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

fn structural(schema: Value) -> Structural {
    Structural::new(schema.as_object().unwrap(), Literals::Plain)
}

fn object(value: Value) -> Object {
    value.as_object().cloned().unwrap()
}

/// Returns the coerced value and the paths of unknown fields.
fn coerced(schema: Value, value: Value) -> (Value, Vec<String>) {
    let mut object = object(value);
    let unknown = structural(schema).coerce(&mut object, Coercion::Reported).unwrap();
    (Value::Object(object), unknown)
}

#[test]
fn unknown_fields_are_pruned_and_reported() {
    let schema = json!({"type": "object", "properties": {
        "spec": {"type": "object", "properties": {
            "a": {"type": "integer"},
            "list": {"type": "array", "items": {"type": "object", "properties": {"x": {"type": "string"}}}},
            "map": {"type": "object", "additionalProperties": {"type": "object"}},
            "any": {"type": "object", "additionalProperties": true},
            "open": {
                "type": "object", "x-kubernetes-preserve-unknown-fields": true,
                "properties": {"known": {"type": "object"}},
            },
        }},
    }});
    let value = json!({"apiVersion": "g/v1", "kind": "K", "metadata": {"name": "n"}, "spec": {
        "a": 1, "b": 2, "list": [{"x": "y", "z": 1}], "map": {"m": {"q": 1}}, "any": {"n": {"o": 1}, "p": 1},
        "open": {"anything": {"goes": 1}, "known": {"but": 1}},
    }, "other": {}});
    let expected = json!({"apiVersion": "g/v1", "kind": "K", "metadata": {"name": "n"}, "spec": {
        "a": 1, "list": [{"x": "y"}], "map": {"m": {}}, "any": {"n": {}, "p": 1},
        "open": {"anything": {"goes": 1}, "known": {}},
    }});
    let unknown =
        ["other", "spec.any.n.o", "spec.b", "spec.list[0].z", "spec.map.m.q", "spec.open.known.but"];
    assert_eq!(coerced(schema, value), (expected, unknown.map(str::to_owned).to_vec()));
}

#[test]
fn disallowed_nulls_without_default_are_dropped() {
    let schema = json!({"type": "object", "properties": {
        "plain": {"type": "string"}, "nullable": {"type": "string", "nullable": true},
        "defaulted": {"type": "string", "default": "d"},
        "map": {"type": "object", "additionalProperties": {"type": "string", "default": "e"}},
    }});
    let value = json!({"plain": null, "nullable": null, "defaulted": null, "map": {"a": null}});
    let (mut value_after, _) = coerced(schema.clone(), value);
    assert_eq!(value_after, json!({"nullable": null, "defaulted": null, "map": {"a": null}}));
    structural(schema).default(value_after.as_object_mut().unwrap()).unwrap();
    assert_eq!(value_after, json!({"nullable": null, "defaulted": "d", "map": {"a": "e"}}));
}

#[test]
fn defaults_apply_inside_values_and_defaults() {
    let schema = json!({"type": "object", "properties": {
        "outer": {"type": "object", "default": {}, "properties": {"inner": {"type": "integer", "default": 5}}},
        "absent": {"type": "object", "properties": {"inner": {"type": "integer", "default": 5}}},
        "list": {"type": "array", "items": {
            "type": "object", "properties": {"x": {"type": "boolean", "default": true}},
        }},
    }});
    let mut value = object(json!({"list": [{}, {"x": false}]}));
    structural(schema).default(&mut value).unwrap();
    assert_eq!(Value::Object(value), json!({"outer": {"inner": 5}, "list": [{"x": true}, {"x": false}]}));
}

#[test]
fn defaults_of_many_items_are_bounded() {
    let text = "d".repeat(1000);
    let of_item = json!({"type": "object", "properties": {"x": {"type": "string", "default": text}}});
    let listed = json!({"type": "array", "items": of_item, "default": vec![json!({}); 10]});
    let schema = structural(json!({"type": "object", "properties": {
        "list": listed, "lists": {"type": "array", "items": listed},
    }}));
    let filled_in = |items: usize, item: Value| {
        schema.default(&mut object(json!({"list": vec![item.clone(); items], "lists": vec![item; items]})))
    };
    assert_eq!(filled_in(1000, json!({})), Ok(()));
    assert_eq!(filled_in(30_000, json!({})), Err(BudgetExceeded));
    assert_eq!(filled_in(5_000, Value::Null), Err(BudgetExceeded), "of defaults that stand for null");
}

#[test]
fn embedded_objects_have_valid_metadata() {
    let schema = json!({"type": "object", "properties": {"template": {
        "type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true,
    }}});
    let template =
        json!({"kind": "Pod", "metadata": {"name": "n", "nope": 1, "creationTimestamp": null}, "x": 1});
    let (coerced_value, unknown) = coerced(schema.clone(), json!({"template": template}));
    assert_eq!(coerced_value, json!({"template": {"kind": "Pod", "metadata": {"name": "n"}, "x": 1}}));
    assert_eq!(unknown, ["template.metadata.nope"]);
    let errors = structural(schema.clone()).validate_embedded(coerced_value.as_object().unwrap());
    assert_eq!(
        errors.iter().map(Error::to_string).collect::<Vec<_>>(),
        ["template.apiVersion: Required value"]
    );
    let mut wrong = object(json!({"template": {"metadata": {"labels": 1, "name": "n"}}}));
    let refused = structural(schema.clone()).coerce(&mut wrong.clone(), Coercion::Reported);
    assert!(refused.is_err());
    structural(schema).coerce(&mut wrong, Coercion::Lenient).unwrap();
    assert_eq!(Value::Object(wrong), json!({"template": {"metadata": {"name": "n"}}}));
}

#[test]
fn list_keys_and_set_items_are_unique() {
    let schema = json!({"type": "object", "properties": {
        "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "map": {
            "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
            "items": {"type": "object", "properties": {"k": {"type": "integer"}}},
        },
    }});
    let value = json!({"set": ["a", "b", "a", "a"], "map": [{"k": 1}, {"k": 1}, {}, {}]});
    let errors = structural(schema).validate_lists(&object(value));
    let expected = [
        "map[1]: Duplicate value: {\"k\":1}",
        "map[3]: Duplicate value: {}",
        "set[2]: Duplicate value: \"a\"",
    ];
    assert_eq!(errors.iter().map(Error::to_string).collect::<Vec<_>>(), expected);
}

#[test]
fn unchanged_invalid_parts_are_accepted() {
    let schema = json!({"type": "object", "properties": {
        "a": {"type": "string", "maxLength": 1}, "b": {"type": "string", "maxLength": 1},
        "list": {
            "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
            "items": {"type": "object", "properties": {"k": {"type": "integer"}, "v": {"type": "integer", "minimum": 5}}},
        },
    }});
    let old = object(json!({"a": "long", "b": "x", "list": [{"k": 1, "v": 1}, {"k": 2, "v": 2}]}));
    let new = object(json!({"a": "long", "b": "long", "list": [{"k": 2, "v": 3}, {"k": 1, "v": 1}]}));
    let errors = structural(schema).validate_update(&new, &old);
    let fields: Vec<&str> = errors.iter().map(Error::field).collect();
    assert_eq!(fields, ["b", "list[0].v"]);
}

#[test]
fn formats_are_checked() {
    let check = |format: &str, good: &[&str], bad: &[&str]| {
        let node = Node::compile(&object(json!({"type": "string", "format": format})), Literals::Plain);
        for (texts, valid) in [(good, true), (bad, false)] {
            for text in texts {
                let errors = faults(&Path::NIL, &node, &json!(text));
                assert_eq!(errors.is_empty(), valid, "{format} {text}");
            }
        }
    };
    check("date-time", &["2026-01-02T03:04:05Z"], &["yesterday", "2026-01-02"]);
    check("ipv4", &["1.2.3.4", "010.0.0.1"], &["1.2.3", "::1", "1.2.3.256"]);
    check("ipv6", &["::1"], &["1.2.3.4"]);
    check("cidr", &["10.0.0.0/8", "::/0"], &["10.0.0.0", "10.0.0.0/33"]);
    check("uuid4", &["123e4567-e89b-42d3-a456-426614174000"], &["123e4567-e89b-12d3-a456-426614174000"]);
    check("email", &["a@b.c", "A <a@b>"], &["a", "@b", "a b@c"]);
    check("duration", &["1h30m", "3 days"], &["", "soon"]);
    check("mac", &["01:23:45:67:89:ab", "0123.4567.89ab", "0123456789ab"], &["01:23", "0123456789"]);
    check("isbn10", &["0-306-40615-2"], &["0306406153"]);
    check("creditcard", &["4111 1111 1111 1111"], &["4111 1111 1111 1112"]);
    check("hostname", &["a.example.com"], &["-a"]);
    check("unheard-of", &["anything"], &[]);
}

#[test]
fn embedded_defaults_have_valid_metadata() {
    let metadata = json!({"name": "a", "unknown": "u", "labels": {"l": 1}});
    let member = |default: Value| json!({"type": "object", "default": default});
    let embedded = |rest: Value| {
        let mut schema = json!({"type": "object", "x-kubernetes-embedded-resource": true});
        if let (Some(schema), Value::Object(rest)) = (schema.as_object_mut(), rest) {
            schema.extend(rest);
        }
        schema
    };
    let text = |default: &str| json!({"type": "string", "default": default});
    let fields = json!({"type": "object", "properties": {"name": text("a"), "unknown": text("u")}});
    let schema = json!({"type": "object", "properties": {
        "whole": embedded(json!({"default": {"metadata": metadata}, "x-kubernetes-preserve-unknown-fields": true})),
        "metadata_alone": embedded(json!({"default": {}, "properties": {"metadata": member(metadata.clone())}})),
        "fields": embedded(json!({"default": {"metadata": {}}, "properties": {"metadata": fields}})),
    }});
    let schema = Structural::new(schema.as_object().unwrap_or(&Object::new()), Literals::Plain);
    let mut object = Object::new();
    schema.default(&mut object).unwrap();
    for name in ["whole", "metadata_alone", "fields"] {
        assert_eq!(object[name], json!({"metadata": {"name": "a"}}), "{name}");
    }
}

#[test]
fn objects_with_unknown_members_are_always_changed() {
    let schema = json!({"type": "object", "required": ["b"], "properties": {
        "a": {"type": "object", "required": ["b"], "properties": {"c": {"type": "string"}}},
    }});
    let schema = Structural::new(schema.as_object().unwrap_or(&Object::new()), Literals::Plain);
    let faults = |object: &Value| {
        let object = object.as_object().cloned().unwrap_or_default();
        schema
            .validate_update(&object, &object)
            .iter()
            .map(|error| error.field().to_owned())
            .collect::<Vec<_>>()
    };
    assert!(faults(&json!({"a": {"c": "d"}})).is_empty());
    assert_eq!(faults(&json!({"a": {"c": "d"}, "kind": "K"})), ["b"]);
    assert_eq!(faults(&json!({"a": {"c": "d", "e": 1}})), ["a.b", "b"]);
}

#[test]
fn decimal_factors_have_a_tolerance() {
    let multiple = |factor: f64| json!({"type": "number", "multipleOf": factor});
    check(multiple(0.01), json!(19.99), &[]);
    check(multiple(0.01), json!(4.35), &[]);
    check(multiple(0.01), json!(4.355), &["d: Invalid value: 4.355:  in body should be a multiple of 0.01"]);
    // An integer is compared with the factor as an integer.
    check(
        multiple(0.01),
        json!(20),
        &["d: Invalid value: 0: factor MultipleOf declared for  must be positive: 0"],
    );
}

#[test]
fn integers_meet_bounds_beyond_their_range() {
    let words = "d: Invalid value: 0:  in body should be less than or equal to -9223372036854775808";
    check(json!({"type": "number", "maximum": 1e21}), json!(0), &[words]);
    check(json!({"type": "number", "minimum": 1e21}), json!(0), &[]);
}

#[test]
fn ratcheting_ends_at_alternatives() {
    let schema = json!({"type": "object", "properties": {"a": {
        "type": "object",
        "properties": {"p": {"type": "string"}, "n": {"type": "integer"}},
        "allOf": [{"properties": {"p": {"pattern": "^ok"}}}],
    }}});
    let structural = Structural::new(schema.as_object().unwrap(), Literals::Texts);
    let check = |new: Value, is_valid: bool| {
        let old = json!({"a": {"p": "bad"}});
        let errors = structural.validate_update(new.as_object().unwrap(), old.as_object().unwrap());
        assert_eq!(errors.is_empty(), is_valid, "{new}");
    };
    check(json!({"a": {"p": "bad"}}), true);
    check(json!({"a": {"p": "bad", "n": 1}}), false);
}
