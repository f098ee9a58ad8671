//! Tests of the IP families of services.

use super::super::families::{default_on_read, fill_in};
use super::*;

const SINGLE: Families = Families { primary: Family::V4, dual: false };
const DUAL: Families = Families { primary: Family::V6, dual: true };

/// Spec with its defaults; `null` removes a member.
fn service(changes: Value) -> Object {
    let mut spec = json!({"type": "ClusterIP", "selector": {"app": "a"}});
    for (name, value) in object(changes) {
        match value {
            Value::Null => drop(spec.as_object_mut().unwrap().remove(&name)),
            value => spec[name] = value,
        }
    }
    object(json!({"metadata": {"name": "s"}, "spec": spec}))
}

/// Resulting policy, families and addresses, or the errors.
fn filled(cluster: Families, new: Value, old: Option<Value>) -> Value {
    let old = old.map(service);
    let mut new = service(new);
    match fill_in(&mut new, old.as_ref(), cluster, Spelling::Strict) {
        Ok(()) => {
            json!([new["spec"]["ipFamilyPolicy"], new["spec"]["ipFamilies"], new["spec"]["clusterIPs"]])
        }
        Err(errors) => errors.iter().map(Error::to_string).collect(),
    }
}

#[test]
fn families_follow_spec_and_cluster() {
    let check = |cluster: Families, new: Value, expected: Value| {
        assert_eq!(filled(cluster, new.clone(), None), expected, "{new}");
    };
    check(SINGLE, json!({}), json!(["SingleStack", ["IPv4"], null]));
    check(DUAL, json!({}), json!(["SingleStack", ["IPv6"], null]));
    check(DUAL, json!({"ipFamilies": ["IPv4"]}), json!(["SingleStack", ["IPv4"], null]));
    check(SINGLE, json!({"ipFamilyPolicy": "PreferDualStack"}), json!(["PreferDualStack", ["IPv4"], null]));
    check(
        DUAL,
        json!({"ipFamilyPolicy": "PreferDualStack"}),
        json!(["PreferDualStack", ["IPv6", "IPv4"], null]),
    );
    let dual_stack =
        json!({"ipFamilyPolicy": "RequireDualStack", "clusterIP": "10.0.0.9", "clusterIPs": ["10.0.0.9"]});
    check(DUAL, dual_stack, json!(["RequireDualStack", ["IPv4", "IPv6"], ["10.0.0.9"]]));
    check(SINGLE, json!({"type": "ExternalName"}), json!([null, null, null]));
}

#[test]
fn headless_service_without_selector_has_both_families() {
    let headless = |more: Value| {
        let mut spec = json!({"clusterIP": "None", "clusterIPs": ["None"]});
        spec.as_object_mut().unwrap().extend(object(more));
        spec
    };
    let check = |new: Value, expected: Value| assert_eq!(filled(SINGLE, headless(new), None), expected);
    let none = ["None"];
    check(json!({"selector": null}), json!(["RequireDualStack", ["IPv4", "IPv6"], none]));
    check(
        json!({"selector": null, "ipFamilies": ["IPv6"]}),
        json!(["RequireDualStack", ["IPv6", "IPv4"], none]),
    );
    check(json!({"selector": null, "ipFamilyPolicy": "SingleStack"}), json!(["SingleStack", ["IPv4"], none]));
    check(json!({}), json!(["SingleStack", ["IPv4"], none]));
    let refused = "spec.ipFamilyPolicy: Invalid value: \"RequireDualStack\": this cluster is not configured \
                   for dual-stack services";
    check(json!({"ipFamilyPolicy": "RequireDualStack"}), json!([refused]));
}

#[test]
fn unavailable_family_is_rejected() {
    let check = |new: Value, expected: &[&str]| assert_eq!(filled(SINGLE, new, None), json!(expected));
    check(
        json!({"ipFamilies": ["IPv6"]}),
        &["spec.ipFamilies[0]: Invalid value: \"IPv6\": not configured on this cluster"],
    );
    check(
        json!({"clusterIP": "fd00::5", "clusterIPs": ["fd00::5"]}),
        &["spec.clusterIPs[0]: Invalid value: [\"fd00::5\"]: IPv6 is not configured on this cluster"],
    );
    check(
        json!({"ipFamilyPolicy": "SingleStack", "ipFamilies": ["IPv4", "IPv6"]}),
        &["spec.ipFamilyPolicy: Invalid value: \"SingleStack\": must be 'RequireDualStack' or \
             'PreferDualStack' when multiple IP families are specified"],
    );
    check(
        json!({"ipFamilies": ["IPv9"]}),
        &["spec.ipFamilies[0]: Unsupported value: \"IPv9\": supported values: \"IPv4\", \"IPv6\""],
    );
}

#[test]
fn update_drops_families_only_on_request() {
    let old = json!({"ipFamilyPolicy": "PreferDualStack", "ipFamilies": ["IPv6", "IPv4"],
        "clusterIP": "fd00::5", "clusterIPs": ["fd00::5", "10.0.0.5"]});
    let with = |changes: Value| {
        let mut changed = old.clone();
        changed.as_object_mut().unwrap().extend(object(changes));
        changed
    };
    let check = |new: Value, expected: Value| {
        assert_eq!(filled(DUAL, new.clone(), Some(old.clone())), expected, "{new}");
    };
    let addresses = ["fd00::5", "10.0.0.5"];
    let families = ["IPv6", "IPv4"];
    check(with(json!({"ipFamilyPolicy": null})), json!(["PreferDualStack", families, addresses]));
    check(with(json!({"ipFamilyPolicy": "SingleStack"})), json!(["SingleStack", ["IPv6"], ["fd00::5"]]));
    check(
        with(json!({"ipFamilyPolicy": "RequireDualStack"})),
        json!(["RequireDualStack", families, addresses]),
    );
    let released = |label: &str| {
        format!(
            "spec.ipFamilyPolicy: Invalid value: \"PreferDualStack\": must be 'SingleStack' to \
             release the secondary {label}"
        )
    };
    check(with(json!({"clusterIPs": ["fd00::5"]})), json!([released("cluster IP")]));
    check(with(json!({"ipFamilies": ["IPv6"]})), json!([released("IP family")]));
}

#[test]
fn prefer_dual_stack_keeps_single_family() {
    let single = json!({"ipFamilyPolicy": "PreferDualStack", "ipFamilies": ["IPv4"],
        "clusterIP": "10.0.0.5", "clusterIPs": ["10.0.0.5"]});
    let unchanged = json!(["PreferDualStack", ["IPv4"], ["10.0.0.5"]]);
    assert_eq!(filled(DUAL, single.clone(), Some(single.clone())), unchanged);
    let mut required = single.clone();
    required["ipFamilyPolicy"] = "RequireDualStack".into();
    assert_eq!(
        filled(DUAL, required, Some(single)),
        json!(["RequireDualStack", ["IPv4", "IPv6"], ["10.0.0.5"]])
    );
}

#[test]
fn old_services_get_families_on_read() {
    let check = |spec: Value, expected: Value| {
        let mut service = service(spec.clone());
        default_on_read(&mut service, SINGLE);
        let spec_of = &service["spec"];
        let actual = json!([spec_of["ipFamilyPolicy"], spec_of["ipFamilies"], spec_of["clusterIPs"]]);
        assert_eq!(actual, expected, "{spec}");
    };
    check(json!({"clusterIP": "10.0.0.5"}), json!(["SingleStack", ["IPv4"], ["10.0.0.5"]]));
    check(json!({"clusterIP": "fd00::5"}), json!(["SingleStack", ["IPv6"], ["fd00::5"]]));
    check(json!({"clusterIP": "None"}), json!(["SingleStack", ["IPv4"], ["None"]]));
    check(
        json!({"clusterIP": "None", "selector": null}),
        json!(["RequireDualStack", ["IPv4", "IPv6"], ["None"]]),
    );
    check(json!({"type": "ExternalName"}), json!([null, null, null]));
    let mut alias = service(json!({"type": "ExternalName", "internalTrafficPolicy": "Cluster"}));
    default_on_read(&mut alias, SINGLE);
    assert_eq!(alias["spec"].get("internalTrafficPolicy"), None);
}
