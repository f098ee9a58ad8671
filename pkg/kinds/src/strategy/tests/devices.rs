//! Tests of device allocation and taints.

use super::*;

#[test]
fn a_device_that_is_deallocated_loses_its_status() {
    let device = |name: &str, share: Option<&str>| match share {
        None => json!({"driver": "d", "pool": "p", "device": name}),
        Some(share) => json!({"driver": "d", "pool": "p", "device": name, "shareID": share}),
    };
    let check = |old: &[Value], new: &[Value], sent: &[Value], expected: Option<Value>| {
        let of = |results: &[Value], devices: &[Value]| {
            let allocation = json!({"devices": {"results": results}});
            json!({"metadata": {}, "spec": {}, "status": {"allocation": allocation, "devices": devices}})
        };
        let put = updated("resourceclaims/status", of(old, &[]), of(new, sent));
        assert_eq!(put["status"].get("devices").cloned(), expected);
    };
    let a = device("a", None);
    let b = device("b", None);
    let shared = device("a", Some("s"));
    let pair = [a.clone(), b.clone()];
    check(&pair, &pair, &pair, Some(json!(pair)));
    check(&pair, std::slice::from_ref(&a), &pair, Some(json!([a])));
    check(&pair, &[], &pair, None);
    let shares = [a.clone(), shared];
    check(&shares[1..], &shares[..1], &shares, Some(json!([a])));
    check(&[], &[], &pair, Some(json!(pair)));
}

#[test]
fn new_taint_effect_resets_time() {
    let check = |effect: &str, added: Option<&str>, expected: Option<&str>| {
        let of = |effect: &str, added: Option<&str>| match added {
            None => json!({"metadata": {}, "spec": {"taint": {"effect": effect}}}),
            Some(added) => json!({"metadata": {}, "spec": {"taint": {"effect": effect, "timeAdded": added}}}),
        };
        let put = updated("devicetaintrules", of("NoSchedule", Some(BEFORE)), of(effect, added));
        assert_eq!(put["spec"], of(effect, expected)["spec"], "{effect} {added:?}");
    };
    check("NoSchedule", Some(BEFORE), Some(BEFORE));
    check("NoExecute", Some(BEFORE), Some(NOW));
    check("NoExecute", None, None);
    let other = Some("2023-01-01T00:00:00Z");
    check("NoExecute", other, other);
}
