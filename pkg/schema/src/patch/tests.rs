//! Results and errors of patches.

#![allow(clippy::unwrap_used)]

use jsontree::{Value, json};

use super::json_patch::{COPIED_LENGTH_MAX, JsonPatch, OPERATIONS_MAX};
use super::merge_patch::MergePatch;
use super::*;
use crate::builtin;

fn shown(error: Error) -> String {
    error.to_string()
}

fn value(text: &[u8]) -> Value {
    serde_json::from_slice(text).unwrap()
}

fn check_json_patch(document: Value, patch: Value, expected: Result<Value, &str>) {
    let document = document.to_string();
    let patch = patch.to_string();
    let (parsed, _) = JsonPatch::parse(patch.as_bytes(), true).unwrap();
    let result = parsed.apply(document.as_bytes()).map(|text| value(&text)).map_err(shown);
    assert_eq!(result, expected.map_err(str::to_owned), "{patch}");
}

fn check_merge(document: Value, patch: Value, expected: Value) {
    let patch = patch.to_string();
    let (parsed, _) = MergePatch::parse(patch.as_bytes(), true).unwrap();
    assert_eq!(value(&parsed.apply(document.to_string().as_bytes()).unwrap()), expected, "{patch}");
}

fn check_strategic(kind: &str, document: Value, patch: Value, expected: Result<Value, &str>) {
    let api_version = if kind == "Deployment" { "apps/v1" } else { "v1" };
    let (mut parsed, _) = strategic::parse(patch.to_string().as_bytes()).unwrap();
    let mut object = document.as_object().unwrap().clone();
    let result = strategic::apply(builtin::kind(api_version, kind).unwrap(), &mut object, &mut parsed);
    let result = result.map(|()| Value::Object(object)).map_err(shown);
    assert_eq!(result, expected.map_err(str::to_owned), "{patch}");
}

fn pod(containers: Value) -> Value {
    json!({"spec": {"containers": containers}})
}

#[test]
fn json_patch_edits_members_and_items() {
    let document = || json!({"a": {"b": 1}, "l": [1, 2, 3]});
    for (patch, expected) in [
        (
            json!([{"op": "add", "path": "/a/c", "value": [null]}]),
            json!({"a": {"b": 1, "c": [null]}, "l": [1, 2, 3]}),
        ),
        (json!([{"op": "add", "path": "/l/-", "value": 4}]), json!({"a": {"b": 1}, "l": [1, 2, 3, 4]})),
        (json!([{"op": "add", "path": "/l/1", "value": 4}]), json!({"a": {"b": 1}, "l": [1, 4, 2, 3]})),
        (json!([{"op": "add", "path": "/l/-1", "value": 4}]), json!({"a": {"b": 1}, "l": [1, 2, 3, 4]})),
        (json!([{"op": "remove", "path": "/l/-1"}]), json!({"a": {"b": 1}, "l": [1, 2]})),
        (
            json!([{"op": "replace", "path": "/a/none", "value": 2}]),
            json!({"a": {"b": 1, "none": 2}, "l": [1, 2, 3]}),
        ),
        (json!([{"op": "replace", "path": "", "value": {"x": 1}}]), json!({"x": 1})),
        (json!([{"op": "move", "from": "/a/b", "path": "/l/0"}]), json!({"a": {}, "l": [1, 1, 2, 3]})),
        (
            json!([{"op": "copy", "from": "/a/none", "path": "/c"}]),
            json!({"a": {"b": 1}, "l": [1, 2, 3], "c": null}),
        ),
        (
            json!([{"op": "test", "path": "/a/none"}, {"op": "test", "path": "/l", "value": [1, 2, 3]}]),
            document(),
        ),
        (
            json!([{"op": "add", "path": "/a/x~1y~0z~01", "value": 1}]),
            json!({"a": {"b": 1, "x/y~z~1": 1}, "l": [1, 2, 3]}),
        ),
    ] {
        check_json_patch(document(), patch, Ok(expected));
    }
}

#[test]
fn json_patch_reports_failed_operations() {
    for (operation, error) in [
        (json!({"op": "test", "path": "/a", "value": 2}), "testing value /a failed: test failed"),
        (
            json!({"op": "remove", "path": "/z"}),
            "error in remove for path: '/z': Unable to remove nonexistent key: z: missing value",
        ),
        (
            json!({"op": "add", "path": "/z/y", "value": 1}),
            "add operation does not apply: doc is missing path: \"/z/y\": missing value",
        ),
        (
            json!({"op": "add", "path": "/l/5", "value": 1}),
            "error in add for path: '/l/5': Unable to access invalid index: 5: invalid index referenced",
        ),
        (
            json!({"op": "replace", "path": "/l/9", "value": 1}),
            "replace operation does not apply: doc is missing key: /l/9: missing value",
        ),
        (
            json!({"op": "copy", "path": "/c"}),
            "copy operation failed to decode from: operation, missing from field: missing value",
        ),
        (json!({"op": "frobnicate", "path": "/a"}), "Unexpected kind: frobnicate"),
        (json!({"path": "/a"}), "Unexpected kind: unknown"),
        (
            json!({"op": "remove", "path": ""}),
            "remove operation does not apply: doc is missing path: \"\": missing value",
        ),
        (
            json!({"op": "move", "from": "/a", "path": "/a/z"}),
            "move operation does not apply: doc is missing destination path: /a/z: missing value",
        ),
        (json!(null), "Unexpected kind: unknown"),
    ] {
        check_json_patch(json!({"a": 1, "l": []}), json!([operation]), Err(error));
    }
}

#[test]
fn json_patch_bodies_are_checked() {
    let parse = |body: &str| JsonPatch::parse(body.as_bytes(), true).map(|(_, strict)| strict);
    let bad = |error: &str| Err(Error::BadRequest(format!("error decoding patch: {error}")));
    assert_eq!(
        parse("{}"),
        bad("json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp")
    );
    assert_eq!(
        parse(r#"["x"]"#),
        bad("json: cannot unmarshal string into Go value of type handlers.jsonPatchOp")
    );
    assert_eq!(
        parse(r#"[{"path":5}]"#),
        bad("json: cannot unmarshal number into Go struct field jsonPatchOp.path of type string")
    );
    assert_eq!(parse("[]["), bad("invalid character '[' after top-level value"));
    assert_eq!(
        parse(r#"[{"op":"add","op":"test","bogus":1}]"#),
        Ok(vec![
            r#"json patch duplicate field "[0].op""#.to_owned(),
            r#"json patch unknown field "[0].bogus""#.to_owned()
        ])
    );
    let operations = format!("[{}]", vec!["{}"; OPERATIONS_MAX + 1].join(","));
    let too_many = "The allowed maximum operations in a JSON patch is 10000, got 10001";
    assert_eq!(parse(&operations), Err(Error::TooLarge(too_many.to_owned())));
}

#[test]
fn json_patch_copies_are_bounded() {
    let large = "x".repeat(COPIED_LENGTH_MAX / 2);
    let copy = json!({"op": "copy", "from": "/a", "path": "/b"});
    let document = json!({"a": large}).to_string();
    let patch = json!([copy, copy, copy]).to_string();
    let (patch, _) = JsonPatch::parse(patch.as_bytes(), true).unwrap();
    let error = patch.apply(document.as_bytes()).unwrap_err().to_string();
    assert!(error.contains("exceeding the limit 3145728"));
}

#[test]
fn unpatched_parts_keep_their_text() {
    let check = |document: &str, patch: &str, expected: &str| {
        let patched = if patch.starts_with('[') {
            JsonPatch::parse(patch.as_bytes(), false).unwrap().0.apply(document.as_bytes()).unwrap()
        } else {
            MergePatch::parse(patch.as_bytes(), false).unwrap().0.apply(document.as_bytes()).unwrap()
        };
        assert_eq!(String::from_utf8(patched).unwrap(), expected, "{patch}");
    };
    check(r#"{"b":{"z":1.0,"y":2},"a":1}"#, "{}", r#"{"a":1,"b":{"z":1.0,"y":2}}"#);
    check(r#"{"b":{"z":1.0,"y":2}}"#, r#"{"b":{"x":1e3}}"#, r#"{"b":{"x":1e3,"y":2,"z":1.0}}"#);
    check("{}", r#"[{"op":"add","path":"/a","value":{"b":1, "b":2.50}}]"#, r#"{"a":{"b":1,"b":2.50}}"#);
    check(
        r#"{"a":[{"z":1,"y":2}]}"#,
        r#"[{"op":"test","path":"/a/0","value":{"y":2,"z":1}}]"#,
        r#"{"a":[{"y":2,"z":1}]}"#,
    );
    check(r#"{"a":1}"#, r#"[{"op":"add","path":"/b","value":"<"}]"#, r#"{"a":1,"b":"\u003c"}"#);
}

#[test]
fn json_patch_compares_scalars_by_text() {
    for (test, passes) in [("1.0", true), ("1", false), ("1e0", false), (r#""1.0""#, false)] {
        let patch = format!(r#"[{{"op":"test","path":"/a","value":{test}}}]"#);
        let (patch, _) = JsonPatch::parse(patch.as_bytes(), true).unwrap();
        assert_eq!(patch.apply(br#"{"a":1.0}"#).is_ok(), passes, "{test}");
    }
}

#[test]
fn unvalidated_merge_patch_may_be_a_list() {
    let (patch, _) = MergePatch::parse(br#"[{"a":null,"b":1},null]"#, false).unwrap();
    assert_eq!(patch.apply(b"{}").unwrap(), br#"[{"b":1},null]"#);
}

#[test]
fn merge_patch_replaces_and_removes() {
    check_merge(
        json!({"a": {"b": 1, "c": 2}}),
        json!({"a": {"b": null, "d": {"e": null, "f": 1}}}),
        json!({"a": {"c": 2, "d": {"f": 1}}}),
    );
    check_merge(json!({"a": [1]}), json!({"a": [{"b": null}, null]}), json!({"a": [{}, null]}));
    check_merge(json!({"a": {}}), json!({"a": [{"b": null}]}), json!({"a": [{"b": null}]}));
    check_merge(json!({"a": null}), json!({"a": {"b": null}}), json!({"a": {}}));
}

#[test]
fn merge_patch_bodies_are_objects() {
    let parse =
        |body: &str, validate| MergePatch::parse(body.as_bytes(), validate).map(|_| ()).map_err(shown);
    assert_eq!(parse("null", true), Err("Invalid JSON Patch".to_owned()));
    assert_eq!(parse("{", false), Err("Invalid JSON Patch".to_owned()));
    assert_eq!(parse("[]", true), Err("error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}".to_owned()));
    assert_eq!(parse("{}", true), Ok(()));
}

#[test]
fn strategic_merges_lists_by_key() {
    let two = || pod(json!([{"name": "a", "image": "1"}, {"name": "b", "image": "2"}]));
    for (patch, expected) in [
        (
            json!([{"name": "b", "image": "3"}]),
            json!([{"name": "a", "image": "1"}, {"name": "b", "image": "3"}]),
        ),
        (
            json!([{"name": "c"}]),
            json!([{"name": "c"}, {"name": "a", "image": "1"}, {"name": "b", "image": "2"}]),
        ),
        (json!([{"$patch": "delete", "name": "a"}]), json!([{"name": "b", "image": "2"}])),
        (json!([{"$patch": "replace"}, {"name": "z"}]), json!([{"name": "z"}])),
    ] {
        check_strategic("Pod", two(), pod(patch), Ok(pod(expected)));
    }
    let unordered = json!({"spec": {"containers": [{"name": "c"}], "$setElementOrder/containers": [{"name": "b"}, {"name": "c"}, {"name": "a"}]}});
    let sorted = pod(json!([{"name": "b", "image": "2"}, {"name": "c"}, {"name": "a", "image": "1"}]));
    check_strategic("Pod", two(), unordered, Ok(sorted));
}

#[test]
fn strategic_lists_without_a_strategy_are_replaced() {
    let args = |args: Value| pod(json!([{"name": "a", "args": args}]));
    check_strategic("Pod", args(json!(["x", "y"])), args(json!(["z"])), Ok(args(json!(["z"]))));
}

#[test]
fn strategic_merges_scalars_as_a_set() {
    let finalizers = |list: Value| json!({"metadata": {"finalizers": list}});
    let two = || finalizers(json!(["x/y", "z/z"]));
    check_strategic(
        "Pod",
        two(),
        finalizers(json!(["a/a", "z/z"])),
        Ok(finalizers(json!(["a/a", "x/y", "z/z"]))),
    );
    let delete = json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["x/y"]}});
    check_strategic("Pod", two(), delete, Ok(finalizers(json!(["z/z"]))));
}

#[test]
fn strategic_directives_replace_delete_and_retain() {
    let object = || json!({"metadata": {"labels": {"a": "1", "b": "2"}}});
    for (patch, expected) in [
        (json!({"$patch": "replace", "c": "3"}), json!({"c": "3"})),
        (json!({"$patch": "delete"}), json!({})),
        (json!({"$retainKeys": ["b", "c"], "c": "3"}), json!({"b": "2", "c": "3"})),
        (json!({"a": null}), json!({"b": "2"})),
    ] {
        check_strategic(
            "Pod",
            object(),
            json!({"metadata": {"labels": patch}}),
            Ok(json!({"metadata": {"labels": expected}})),
        );
    }
    check_strategic(
        "Pod",
        json!({}),
        json!({"spec": {"a": null, "b": {"$patch": "replace"}}}),
        Ok(json!({"spec": {}})),
    );
}

#[test]
fn strategic_reports_unmergeable_values() {
    let named = || pod(json!([{"name": "a"}]));
    for (patch, error) in [
        (pod(json!([{"image": "x"}])), "map: map[image:x] does not contain declared merge key: name"),
        (pod(json!([["c"]])), "list element types are not identical: [[map[name:a]] [[c]]]"),
        (json!({"spec": {"$patch": null}}), "unknown patch type: %!s(<nil>) in map: map[$patch:<nil>]"),
        (json!({"spec": {"$retainKeys": ["x"], "y": 1}}), "invalid patch format of retainKeys"),
        (
            json!({"spec": {"$setElementOrder/containers": 5}}),
            "expected a []interface {}, but received a int64",
        ),
        (
            json!({"spec": {"containers": [{"name": "b"}], "$setElementOrder/containers": [{"name": "a"}]}}),
            "The order in patch list:\n[map[name:b]]\n doesn't match $setElementOrder list:\n[map[name:a]]\n",
        ),
    ] {
        check_strategic("Pod", named(), patch, Err(error));
    }
    let extra = json!({"zz": {"a": 1}});
    check_strategic(
        "Pod",
        extra.clone(),
        extra,
        Err("unable to find api field in struct Pod for the json field \"zz\""),
    );
    assert_eq!(
        strategic::parse(b"[]").map_err(shown),
        Err("json: cannot unmarshal array into Go value of type map[string]interface {}".to_owned())
    );
}

#[test]
fn verbatim_json_can_be_patched() {
    let message = builtin::kind("apps/v1", "ControllerRevision").unwrap();
    let tree = crate::json::decode(message, br#"{"metadata":{"name":"a"},"data":{"b": 1.0},"revision":1}"#)
        .unwrap()
        .object;
    let Value::Object(mut value) = expand(message, &tree).unwrap() else { unreachable!() };
    assert_eq!(value["data"], json!({"b": 1.0}));
    let (mut patch, _) = strategic::parse(br#"{"data":{"c":2}}"#).unwrap();
    value["data"] = json!({"b": 1.0});
    patch.remove("data");
    strategic::apply(message, &mut value, &mut patch).unwrap();
    assert_eq!(typed::object(message, value).unwrap().0["data"], json!(r#"{"b":1}"#));
}

fn check_typed(value: Value, expected: Result<(Value, &[&str]), &str>) {
    let message = builtin::kind("v1", "Pod").unwrap();
    let result = typed::object(message, value.as_object().unwrap().clone());
    let expected = expected.map(|(object, unknown)| {
        (object.as_object().unwrap().clone(), unknown.iter().map(|&text| text.to_owned()).collect())
    });
    let result = result.map_err(|error| error.to_string());
    assert_eq!(result, expected.map_err(str::to_owned), "{value}");
}

#[test]
fn merged_values_are_assigned_like_reflection() {
    let seconds = |value: Value| json!({"spec": {"activeDeadlineSeconds": value}});
    check_typed(seconds(json!(5.0)), Ok((seconds(json!(5)), &[])));
    check_typed(seconds(json!(5.5)), Err("cannot convert float64 to int64"));
    check_typed(seconds(json!("5")), Err("unrecognized type: int64"));
    let priority = |value: Value| json!({"spec": {"priority": value}});
    check_typed(priority(json!(4294967297_i64)), Ok((priority(json!(1)), &[])));
    check_typed(json!({"metadata": {"name": 1}}), Err("cannot convert int64 to string"));
    check_typed(json!({"metadata": {"name": true}}), Err("unrecognized type: string"));
    check_typed(json!({"metadata": 1}), Err("cannot restore struct from: int64"));
    check_typed(json!({"metadata": {"labels": []}}), Err("cannot restore map from slice"));
    check_typed(pod(json!({})), Err("cannot restore slice from map"));
    check_typed(
        json!({"metadata": {"creationTimestamp": 5}}),
        Err("json: cannot unmarshal number into Go value of type string"),
    );
    check_typed(
        json!({"z": 1, "spec": {"containers": [{"name": "a", "x": {"y": 1}}]}}),
        Ok((
            pod(json!([{"name": "a"}])),
            &[r#"unknown field "spec.containers[0].x""#, r#"unknown field "z""#],
        )),
    );
}

#[test]
fn errors_quote_the_remaining_strategic_patch() {
    let message = builtin::kind("v1", "Pod").unwrap();
    let body = br#"{"spec":{"$retainKeys":["containers","hostAliases"],"$setElementOrder/containers":[],"containers":null,"hostAliases":[{"ip":null,"hostnames":["x"]}],"priority":1e7}}"#;
    let (mut patch, _) = strategic::parse(body).unwrap();
    patch["spec"].as_object_mut().unwrap().remove("$setElementOrder/containers");
    patch["spec"]["$retainKeys"].as_array_mut().unwrap().push(json!("priority"));
    let mut object = json!({"spec": {"hostAliases": 5}}).as_object().unwrap().clone();
    strategic::apply(message, &mut object, &mut patch).unwrap();
    assert_eq!(
        strategic::quoted(&patch),
        "map[spec:map[containers:<nil> hostAliases:[map[hostnames:[x]]] priority:1e+07]]"
    );
}
