//! Entries and identifiers.

use crate::entries::{Managed, Operation, Origin, is_reset};
use crate::testing::{at, entry, time, untimed};
use jsontree::{Value, json};

#[track_caller]
fn check_error(entry: Value, expected: &str) {
    let error = Managed::decode(&[untimed("m", "Apply", "v1", "{}"), entry]).unwrap_err();
    assert_eq!(error.to_string(), expected);
}

#[test]
fn incomplete_entry_is_an_error() {
    let with = |name: &str, value: &str| {
        let mut entry = untimed("m", "Update", "v1", "{}");
        entry[name] = json!(value);
        entry
    };
    check_error(with("operation", ""), "operation must be `Apply` or `Update`");
    check_error(with("operation", "apply"), "operation must be `Apply` or `Update`");
    check_error(with("apiVersion", ""), "apiVersion must not be empty");
    check_error(with("fieldsType", ""), "missing fieldsType in managed fields entry 1");
    check_error(with("fieldsType", "FieldsV2"), "invalid fieldsType \"FieldsV2\" in managed fields entry 1");
    assert!(Managed::decode(&[with("fieldsV1", "[]")]).is_err());
    assert!(Managed::decode(&[json!(7)]).is_err());
}

#[test]
fn entries_round_trip() {
    let fields = r#"{"f:data":{".":{},"f:a":{}},"k:{\"name\":\"x\"}":{"f:v":{}},"v:1":{}}"#;
    let entries = [untimed("a", "Apply", "v1", fields), entry("a", "Apply", "apps/v1", 5, "{}")];
    // The last entry of the same applier counts.
    assert_eq!(Managed::decode(&entries).unwrap().encode(), entries[1..]);
    let entries = [
        untimed("a", "Apply", "v1", fields),
        untimed("b/status", "Update", "v1", fields),
        entry("a", "Update", "apps/v1", 5, fields),
        entry("a", "Update", "v1", 5, fields),
        entry("a/status", "Update", "v1", 5, fields),
    ];
    assert_eq!(Managed::decode(&entries).unwrap().encode(), entries);
}

#[test]
fn entries_are_sorted_by_operation_time_and_name() {
    let sorted = [
        untimed("z", "Apply", "v1", "{}"),
        entry("b", "Apply", "v1", 1, "{}"),
        entry("c", "Apply", "v1", 1, "{}"),
        entry("a", "Apply", "v1", 2, "{}"),
        untimed("n", "Update", "v1", "{}"),
        entry("m", "Update", "v1", 1, "{}"),
        entry("m", "Update", "v2", 1, "{}"),
        entry("m/scale", "Update", "v2", 1, "{}"),
    ];
    let mut reversed = sorted.clone();
    reversed.reverse();
    assert_eq!(Managed::decode(&reversed).unwrap().encode(), sorted);
}

#[test]
fn identifier_is_json_of_distinguishing_fields() {
    let check = |manager: &str, operation, subresource: &str, expected: &str| {
        let origin = Origin {
            manager: manager.to_owned(),
            operation,
            api_version: "apps/v1".to_owned(),
            subresource: subresource.to_owned(),
            time: Some(at(0)),
            written: None,
        };
        assert_eq!(origin.identifier(), expected);
    };
    check("m", Operation::Update, "", r#"{"manager":"m","operation":"Update","apiVersion":"apps/v1"}"#);
    check("m", Operation::Apply, "", r#"{"manager":"m","operation":"Apply"}"#);
    check("m", Operation::Apply, "status", r#"{"manager":"m","operation":"Apply","subresource":"status"}"#);
    check("", Operation::Apply, "", r#"{"operation":"Apply"}"#);
    check("a<\"é", Operation::Apply, "", "{\"manager\":\"a\\u003c\\\"é\",\"operation\":\"Apply\"}");
}

#[test]
fn times_are_kept_in_whole_seconds() {
    let managed = Managed::decode(&[entry("m", "Apply", "v1", 7, "{}")]).unwrap();
    assert_eq!(managed.origins.values().next().unwrap().time, Some(at(7)));
    assert_eq!(managed.encode()[0]["time"], json!(time(7)));
}

#[test]
fn an_empty_list_or_entry_is_a_reset() {
    let check = |entries: Option<Value>, expected: bool| {
        let entries = entries.as_ref().map(|list| list.as_array().unwrap().as_slice());
        assert_eq!(is_reset(entries), expected, "{entries:?}");
    };
    check(None, false);
    check(Some(json!([])), true);
    check(Some(json!([{}])), true);
    check(Some(json!([{"manager": "", "time": null}])), true);
    check(Some(json!([{"manager": "m"}])), false);
    check(Some(json!([{}, {}])), false);
}
