//! Tests of dynamic resource allocation. The expected values are upstream's results for the same input.

use super::{check, check_both_ways};
use jsontree::{Value, json};

const V1: &str = "resource.k8s.io/v1";
const V1BETA1: &str = "resource.k8s.io/v1beta1";
const V1BETA2: &str = "resource.k8s.io/v1beta2";

fn claim(requests: Value) -> Value {
    json!({"spec": {"devices": {"requests": requests}}})
}

#[test]
fn request_for_one_device_kind_is_exact() {
    let exact = json!({"deviceClassName": "c", "selectors": [{"cel": {"expression": "true"}}], "allocationMode": "ExactCount",
        "count": 2, "adminAccess": false, "tolerations": [{"key": "k"}], "capacity": {"requests": {"a": "1"}}});
    let mut flat = exact.clone();
    flat["name"] = json!("r");
    for (version, kind, wrap) in [
        (V1, "ResourceClaim", claim as fn(Value) -> Value),
        (V1BETA2, "ResourceClaim", claim),
        (V1, "ResourceClaimTemplate", |requests| json!({"spec": claim(requests)})),
    ] {
        check_both_ways(
            kind,
            (
                version,
                wrap(
                    json!([{"name": "r", "exactly": exact}, {"name": "s", "firstAvailable": [{"name": "t"}]}]),
                ),
            ),
            (V1BETA1, wrap(json!([flat, {"name": "s", "firstAvailable": [{"name": "t"}]}]))),
        );
    }
}

#[test]
fn any_device_field_makes_request_exact() {
    for (request, exactly) in [
        (json!({}), None),
        (json!({"deviceClassName": ""}), None),
        (json!({"count": 0}), None),
        (json!({"adminAccess": null}), None),
        (json!({"selectors": []}), Some(json!({"selectors": []}))),
        (json!({"tolerations": []}), Some(json!({"tolerations": []}))),
        (json!({"adminAccess": false}), Some(json!({"adminAccess": false}))),
        (json!({"capacity": {}}), Some(json!({"capacity": {}}))),
        (json!({"allocationMode": "All", "count": 2}), Some(json!({"allocationMode": "All", "count": 2}))),
    ] {
        let expected = exactly.map_or_else(|| json!({}), |exactly| json!({"exactly": exactly}));
        check("ResourceClaim", (V1BETA1, claim(json!([request]))), (V1, claim(json!([expected]))));
    }
    check(
        "ResourceClaim",
        (V1, claim(json!([{"name": "a", "exactly": {}}]))),
        (V1BETA1, claim(json!([{"name": "a"}]))),
    );
}

#[test]
fn alternatives_with_exact_request_are_kept() {
    check_both_ways(
        "ResourceClaim",
        (V1BETA1, claim(json!([{"deviceClassName": "x", "firstAvailable": [{"name": "s"}]}]))),
        (V1, claim(json!([{"exactly": {"deviceClassName": "x"}, "firstAvailable": [{"name": "s"}]}]))),
    );
}

#[test]
fn device_properties_move_to_basic_part() {
    let basic = json!({"attributes": {"a": {"int": 1}}, "capacity": {"c": {"value": "1"}}, "consumesCounters": [{"counterSet": "s"}],
        "nodeName": "", "allNodes": false, "taints": [{"key": "k"}], "bindsToNode": true, "bindingConditions": ["b"],
        "bindingFailureConditions": ["f"], "allowMultipleAllocations": true});
    let mut flat = basic.clone();
    flat["name"] = json!("d");
    check_both_ways(
        "ResourceSlice",
        (V1, json!({"spec": {"nodeName": "n", "devices": [flat, {"name": "e"}]}})),
        (
            V1BETA1,
            json!({"spec": {"nodeName": "n", "devices": [{"name": "d", "basic": basic}, {"name": "e", "basic": {}}]}}),
        ),
    );
    check(
        "ResourceSlice",
        (V1BETA1, json!({"spec": {"devices": [{"name": "d"}]}})),
        (V1, json!({"spec": {"devices": [{"name": "d"}]}})),
    );
}

#[test]
fn empty_node_name_is_absent_in_v1beta1() {
    check(
        "ResourceSlice",
        (V1BETA1, json!({"spec": {"nodeName": "", "allNodes": false}})),
        (V1, json!({"spec": {}})),
    );
    check_both_ways(
        "ResourceSlice",
        (V1BETA1, json!({"spec": {"nodeName": "n", "allNodes": true}})),
        (V1, json!({"spec": {"nodeName": "n", "allNodes": true}})),
    );
}
