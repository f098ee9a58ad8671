//! Tests of device claims.

use super::*;
use jsontree::{Value, json};

fn object(spec: &Value) -> Object {
    let object = json!({"metadata": {"name": "c", "namespace": "n", "resourceVersion": "1"}, "spec": spec});
    object.as_object().cloned().unwrap_or_default()
}

fn check(changes: Value, expected: &[&str]) {
    let exactly = json!({"deviceClassName": "a", "allocationMode": "ExactCount", "count": 1});
    let mut devices = json!({"requests": [{"name": "r", "exactly": exactly}]});
    if let (Some(devices), Value::Object(changes)) = (devices.as_object_mut(), changes.clone()) {
        devices.extend(changes);
    }
    let errors = claim(&object(&json!({"devices": devices})), &ValidationContext::default());
    let steps: Vec<&str> =
        errors.iter().map(|error| error.field().strip_prefix("spec.devices.").unwrap_or_default()).collect();
    assert_eq!(steps, expected, "{changes}");
}

#[test]
fn a_request_is_exact_or_has_alternatives() {
    check(json!({}), &[]);
    check(
        json!({"requests": [{"name": "r"}, {"name": "r"}]}),
        &["requests[0]", "requests[1]", "requests[1]"],
    );
    let other = json!({"name": "a", "deviceClassName": "a", "allocationMode": "All"});
    check(json!({"requests": [{"name": "r", "firstAvailable": [other]}]}), &[]);
    check(
        json!({"requests": [{"name": "r", "firstAvailable": [other, other]}]}),
        &["requests[0].firstAvailable[1]"],
    );
    check(json!({"requests": [{"name": "r", "firstAvailable": [other], "exactly": {}}]}), &["requests[0]"]);
    let step = |step: &str| format!("requests[0].exactly.{step}");
    check(
        json!({"requests": [{"name": "r", "exactly": {"allocationMode": "x", "selectors": [{}]}}]}),
        &[&step("deviceClassName"), &step("selectors[0].cel"), &step("allocationMode")],
    );
    let all = json!({"deviceClassName": "a", "allocationMode": "All", "count": 1, "tolerations": [
        {"operator": "Exists", "value": "x"}, {"key": "a b", "operator": "Equal", "effect": "x"}, {}]});
    check(
        json!({"requests": [{"name": "r", "exactly": all}]}),
        &[
            &step("count"),
            &step("tolerations[0].value"),
            &step("tolerations[1].key"),
            &step("tolerations[1].effect"),
            &step("tolerations[2].operator"),
        ],
    );
    let many: Vec<Value> = (0..33).map(|_| json!({})).collect();
    check(json!({"requests": many}), &["requests"]);
}

#[test]
fn constraints_refer_to_requests() {
    check(json!({"constraints": [{"requests": ["r"], "matchAttribute": "a.b/c"}]}), &[]);
    check(
        json!({"constraints": [{"requests": ["r/x", "r", "r"], "matchAttribute": "c"}]}),
        &["constraints[0].requests[0]", "constraints[0].requests[2]", "constraints[0].matchAttribute"],
    );
    check(
        json!({"constraints": [{"requests": ["a/b/c"]}]}),
        &["constraints[0].requests[0]", "constraints[0]"],
    );
}

#[test]
fn driver_configuration_is_an_object() {
    let config =
        |parameters: &str| json!({"config": [{"opaque": {"driver": "d", "parameters": parameters}}]});
    check(config("{}"), &[]);
    check(config(&(r#"{"a":"#.repeat(1000) + "1" + &"}".repeat(1000))), &[]);
    for parameters in ["", "null", "[]", "1", "{x", "{} {}", r#"{"a":1e400}"#] {
        check(config(parameters), &["config[0].opaque.parameters"]);
    }
    check(json!({"config": [{}]}), &["config[0].opaque"]);
}

#[test]
fn claims_are_immutable_and_used_only_when_allocated() {
    let fields =
        |errors: ErrorList| -> Vec<String> { errors.iter().map(|error| error.field().to_owned()).collect() };
    let with = |name: &str| object(&json!({"devices": {"requests": [{"name": name}]}}));
    assert_eq!(fields(claim_update("", &with("a"), &with("b"), &ValidationContext::default())), ["spec"]);
    let status = |status: Value| {
        let mut claim = with("a");
        claim.insert("status", status);
        claim
    };
    let used = json!([{"resource": "pods", "name": "p", "uid": "u"}]);
    let none = status(json!({}));
    assert_eq!(
        fields(claim_update(
            "status",
            &status(json!({"reservedFor": used})),
            &none,
            &ValidationContext::default()
        )),
        ["status.reservedFor"]
    );
    let result = |device: &str| json!({"request": "a", "driver": "d", "pool": "p/q", "device": device});
    let allocated = |device: &str| {
        status(json!({"reservedFor": used, "allocation": {"devices": {"results": [result(device)]}}}))
    };
    assert_eq!(
        fields(claim_update("status", &allocated("a"), &none, &ValidationContext::default())),
        Vec::<String>::new()
    );
    assert_eq!(
        fields(claim_update("status", &allocated("a"), &allocated("b"), &ValidationContext::default())),
        ["status.allocation"]
    );
    let bad = json!({"reservedFor": [{}], "allocation": {"devices": {"results": [{"request": "x"}], "config": [{}]}}});
    let result = |step: &str| format!("status.allocation.devices.results[0].{step}");
    assert_eq!(
        fields(claim_update("status", &status(bad), &none, &ValidationContext::default())),
        [
            "status.reservedFor[0].resource".to_owned(),
            "status.reservedFor[0].name".to_owned(),
            "status.reservedFor[0].uid".to_owned(),
            result("request"),
            result("driver"),
            result("pool"),
            result("device"),
            "status.allocation.devices.config[0].source".to_owned(),
            "status.allocation.devices.config[0].opaque".to_owned(),
        ]
    );
}

#[test]
fn templates_and_classes_follow() {
    let bad = object(&json!({"metadata": {"name": "x"}, "spec": {"devices": {"requests": [{"name": "r"}]}}}));
    let errors = template(&bad, &ValidationContext::default());
    let fields: Vec<&str> = errors.iter().map(Error::field).collect();
    assert_eq!(fields, ["spec.metadata.name", "spec.spec.devices.requests[0]"]);
    let bad = json!({"metadata": {"name": "c"}, "spec": {"selectors": [{}], "config": [{}], "extendedResourceName": "x"}});
    let errors = class(bad.as_object().unwrap_or(&Object::new()), None, &ValidationContext::default());
    let fields: Vec<&str> = errors.iter().map(Error::field).collect();
    assert_eq!(fields, ["spec.selectors[0].cel", "spec.config[0].opaque", "spec.extendedResourceName"]);
}

fn check_slice(changes: Value, expected: &[&str]) {
    let mut spec = json!({"driver": "d", "pool": {"name": "p", "resourceSliceCount": 1}, "allNodes": true});
    if let (Some(spec), Value::Object(changes)) = (spec.as_object_mut(), changes.clone()) {
        spec.extend(changes);
    }
    let object = json!({"metadata": {"name": "s"}, "spec": spec});
    let errors = (SLICES.create)(object.as_object().unwrap_or(&Object::new()), &ValidationContext::default());
    assert_eq!(errors.iter().map(Error::field).collect::<Vec<_>>(), expected, "{changes}");
}

#[test]
fn a_slice_is_at_some_nodes() {
    check_slice(json!({}), &[]);
    check_slice(json!({"allNodes": null}), &["spec"]);
    check_slice(json!({"nodeName": "n"}), &["spec"]);
    check_slice(json!({"allNodes": false, "nodeName": ""}), &["spec.nodeName", "spec.allNodes", "spec"]);
    check_slice(json!({"pool": {}}), &["spec.pool.name", "spec.pool.resourceSliceCount"]);
    check_slice(
        json!({"sharedCounters": [{}, {}]}),
        &[
            "spec.sharedCounters[0].name",
            "spec.sharedCounters[0].counters",
            "spec.sharedCounters[1].name",
            "spec.sharedCounters[1].counters",
            "spec.sharedCounters[1]",
        ],
    );
}

#[test]
fn a_device_has_attributes_with_one_value() {
    let device = |changes: Value| {
        let mut device = json!({"name": "a"});
        if let (Some(device), Value::Object(changes)) = (device.as_object_mut(), changes) {
            device.extend(changes);
        }
        json!({"devices": [device]})
    };
    check_slice(device(json!({"attributes": {"a.b/c": {"version": "1.2.3"}, "d": {"int": 1}}})), &[]);
    check_slice(
        device(json!({"attributes": {"a-b": {}, "c": {"int": 1, "version": "1"}}})),
        &[
            "spec.devices[0].attributes",
            "spec.devices[0].attributes[a-b]",
            "spec.devices[0].attributes[c].version",
            "spec.devices[0].attributes[c]",
        ],
    );
    check_slice(
        device(json!({"name": "A", "nodeName": "n", "taints": [{}]})),
        &[
            "spec.devices[0].name",
            "spec.devices[0].taints[0].key",
            "spec.devices[0].taints[0].key",
            "spec.devices[0].taints[0].effect",
            "spec.devices[0]",
        ],
    );
    check_slice(
        device(json!({"bindingConditions": ["a", "a"], "bindingFailureConditions": ["a"]})),
        &["spec.devices[0].bindingConditions[1]", "spec.devices[0].bindingFailureConditions[0]"],
    );
}
