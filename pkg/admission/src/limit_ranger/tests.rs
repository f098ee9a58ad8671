//! Tests of defaults and bounds.
#![allow(clippy::unwrap_used)]

use jsontree::{Value, json};

use super::*;
use crate::testing::{Store, Write};

fn plugin(limits: Value) -> LimitRanger {
    let range = json!({"metadata": {"name": "r", "namespace": "ns"}, "spec": {"limits": limits}});
    LimitRanger::new(Store::of([("limitranges", range)])).unwrap()
}

fn pod(spec: Value) -> Value {
    json!({"metadata": {"name": "p"}, "spec": spec})
}

#[test]
fn containers_get_defaults_and_pod_gets_annotation() {
    let plugin = plugin(json!([{"type": "Container", "default": {"cpu": "500m", "memory": "256Mi"},
        "defaultRequest": {"cpu": "100m"}}]));
    let check = |spec: Value, resources: Value, note: &str| {
        let got = Write::default().mutated(&plugin, pod(spec)).unwrap();
        assert_eq!(got["spec"]["containers"][0]["resources"], resources);
        let annotation =
            got["metadata"]["annotations"]["kubernetes.io/limit-ranger"].as_str().unwrap_or_default();
        assert_eq!(annotation, note);
    };
    let full = json!({"limits": {"cpu": "500m", "memory": "256Mi"}, "requests": {"cpu": "100m"}});
    check(
        json!({"containers": [{"name": "c"}]}),
        full.clone(),
        "LimitRanger plugin set: cpu request for container c; cpu, memory limit for container c",
    );
    check(
        json!({"containers": [{"name": "c", "resources": full}], "initContainers": [{"name": "i"}]}),
        full.clone(),
        "LimitRanger plugin set: cpu request for init container i; cpu, memory limit for init container i",
    );
    check(json!({"containers": [{"name": "c", "resources": full}]}), full.clone(), "");
}

#[test]
fn containers_stay_within_bounds() {
    let plugin = plugin(json!([{"type": "Container", "min": {"cpu": "50m"}, "max": {"cpu": "1"},
        "maxLimitRequestRatio": {"cpu": "8"}}]));
    let check = |requests: Value, limits: Value, expected: &str| {
        let resources = json!({"requests": requests, "limits": limits});
        let got = Write::default().validated(&plugin, pod(json!({"containers": [{"resources": resources}]})));
        let message = got.err().unwrap_or_default();
        assert_eq!(message.strip_prefix("pods \"p\" is forbidden: ").unwrap_or_default(), expected);
    };
    check(json!({"cpu": "100m"}), json!({"cpu": "500m"}), "");
    check(json!({"cpu": "1"}), json!({"cpu": "2"}), "maximum cpu usage per Container is 1, but limit is 2");
    check(
        json!({"cpu": "10m"}),
        json!({"cpu": "500m"}),
        "[minimum cpu usage per Container is 50m, but request is 10m, cpu max limit to request ratio per Container is 8, but provided ratio is 50.000000]",
    );
    check(
        json!({}),
        json!({"cpu": "500m"}),
        "[minimum cpu usage per Container is 50m.  No request is specified, cpu max limit to request ratio per Container is 8, but no request is specified or request is 0]",
    );
    check(
        json!({"cpu": "500m"}),
        json!({}),
        "[maximum cpu usage per Container is 1.  No limit is specified, cpu max limit to request ratio per Container is 8, but no limit is specified or limit is 0]",
    );
}

#[test]
fn pod_totals_stay_within_bounds() {
    let plugin = plugin(json!([{"type": "Pod", "max": {"cpu": "1"}}]));
    let container = json!({"resources": {"requests": {"cpu": "600m"}, "limits": {"cpu": "600m"}}});
    let got = Write::default().validated(&plugin, pod(json!({"containers": [container, container]})));
    assert_eq!(
        got.unwrap_err(),
        "pods \"p\" is forbidden: maximum cpu usage per Pod is 1, but limit is 1200m"
    );
    assert!(Write::default().validated(&plugin, pod(json!({"containers": [container]}))).is_ok());
}

#[test]
fn claims_stay_within_bounds() {
    let bounds =
        json!([{"type": "PersistentVolumeClaim", "min": {"storage": "1Gi"}, "max": {"storage": "10Gi"}}]);
    let plugin = plugin(bounds);
    let claim = |size: &str| json!({"metadata": {"name": "c"}, "spec": {"resources": {"requests": {"storage": size}}}});
    let check = |write: Write, size: &str, expected: &str| {
        let message = write.validated(&plugin, claim(size)).err().unwrap_or_default();
        let cause = message.strip_prefix("persistentvolumeclaims \"c\" is forbidden: ").unwrap_or_default();
        assert_eq!(cause, expected);
    };
    let claims = || Write::of("", "v1", "persistentvolumeclaims");
    let low = "minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 500Mi";
    let high = "maximum storage usage per PersistentVolumeClaim is 10Gi, but request is 20Gi";
    check(claims(), "5Gi", "");
    check(claims(), "500Mi", low);
    check(claims(), "20Gi", high);
    check(claims().over(claim("5Gi")), "20Gi", high);
    let mut going = claim("5Gi");
    going["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    check(claims().over(going), "20Gi", "");
}

#[test]
fn too_many_containers_times_quantities_are_rejected() {
    let quantities: Object = (0..1_000).map(|n| (format!("example.com/r{n}"), json!("1"))).collect();
    let plugin = plugin(json!([{"type": "Container", "default": Value::Object(quantities)}]));
    let check = |containers: usize| {
        let containers: Vec<Value> = (0..containers).map(|n| json!({"name": format!("c{n}")})).collect();
        Write::default().mutated(&plugin, pod(json!({"containers": containers})))
    };
    assert!(check(100).is_ok());
    let refused =
        "pods \"p\" is forbidden: its containers times the quantities in limit ranges are more than 100000";
    assert_eq!(check(101).unwrap_err(), refused);
}
