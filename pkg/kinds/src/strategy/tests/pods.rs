//! Tests of new pods.

use super::*;

#[test]
fn the_quality_of_service_follows_requests_and_limits() {
    let check = |spec: Value, expected: &str| {
        let pod = created("pods", json!({"metadata": {}, "spec": spec}));
        assert_eq!(pod["status"], json!({"phase": "Pending", "qosClass": expected}), "{spec}");
    };
    let containers = |resources: Value| {
        let list: Vec<Value> =
            resources.as_array().unwrap().iter().map(|r| json!({"name": "c", "resources": r})).collect();
        json!({"containers": list})
    };
    let cpu_and_memory = json!({"cpu": "1", "memory": "1Gi"});
    let full = json!({"requests": cpu_and_memory, "limits": cpu_and_memory});
    check(containers(json!([{}])), "BestEffort");
    check(
        containers(json!([{"requests": {"cpu": "0"}, "limits": {"ephemeral-storage": "1"}}])),
        "BestEffort",
    );
    check(containers(json!([full])), "Guaranteed");
    check(containers(json!([full, {}])), "Burstable");
    check(containers(json!([{"requests": {"cpu": "1"}, "limits": {"cpu": "1"}}])), "Burstable");
    check(
        containers(json!([{"requests": {"cpu": "500m", "memory": "1Gi"}, "limits": cpu_and_memory}])),
        "Burstable",
    );
    check(containers(json!([{"limits": cpu_and_memory}])), "Burstable");
    let equal_requests = json!({"requests": {"cpu": "1000m", "memory": "1024Mi"}, "limits": cpu_and_memory});
    check(containers(json!([equal_requests])), "Guaranteed");
    check(json!({"containers": [{"resources": full}], "initContainers": [{}]}), "Burstable");
    check(json!({"containers": [{}], "resources": full}), "Guaranteed");
    check(json!({"containers": [{"resources": full}], "resources": {}}), "Guaranteed");
    check(json!({"containers": [{}], "resources": {"requests": {"cpu": "1"}}}), "Burstable");
}

#[test]
fn initial_status_is_ignored() {
    let status = json!({"phase": "Running", "qosClass": "Guaranteed", "podIP": "1.2.3.4"});
    let pod = created("pods", json!({"metadata": {}, "spec": {}, "status": status}));
    assert_eq!(pod["status"], json!({"phase": "Pending", "qosClass": "BestEffort"}));
}

#[test]
fn pod_level_resources_are_completed() {
    let check = |containers: Value, resources: Value, expected: Value| {
        let pod = created(
            "pods",
            json!({"metadata": {}, "spec": {"containers": containers, "resources": resources}}),
        );
        assert_eq!(pod["spec"]["resources"], expected);
    };
    let container = |cpu: &str| json!({"resources": {"requests": {"cpu": cpu}, "limits": {"cpu": cpu}}});
    check(
        json!([container("1"), container("2")]),
        json!({"requests": {"memory": "1Gi"}}),
        json!({"requests": {"memory": "1Gi", "cpu": "3"}, "limits": {"cpu": "3"}}),
    );
    check(json!([container("1"), {}]), json!({"requests": {"cpu": "4"}}), json!({"requests": {"cpu": "4"}}));
    check(
        json!([container("1")]),
        json!({"requests": {"cpu": "4"}}),
        json!({"requests": {"cpu": "4"}, "limits": {"cpu": "4"}}),
    );
    check(json!([container("1")]), json!({}), json!({}));
}

#[test]
fn omitted_pod_level_resources_are_kept() {
    let with = json!({"metadata": {}, "spec": {"resources": {"requests": {"cpu": "1"}}}});
    let without = json!({"metadata": {}, "spec": {}});
    assert_eq!(updated("pods", with.clone(), without.clone())["spec"], with["spec"]);
    let closed = Gates::default().with(component_base::features::Gate::PodLevelResourcesFixDefaulting, false);
    assert_eq!(updated_with(closed, "pods", with, without.clone())["spec"], without["spec"]);
}

#[test]
fn gated_pod_has_condition() {
    let pod = created("pods", json!({"metadata": {}, "spec": {"schedulingGates": [{"name": "a"}]}}));
    let expected = json!([{
        "type": "PodScheduled", "status": "False", "lastTransitionTime": NOW, "reason": "SchedulingGated",
        "message": "Scheduling is blocked due to non-empty scheduling gates",
    }]);
    assert_eq!(pod["status"]["conditions"], expected);
}

#[test]
fn label_keys_extend_selectors() {
    let term = |selector: Value| {
        json!({
            "labelSelector": selector,
            "matchLabelKeys": ["a", "none"],
            "mismatchLabelKeys": ["b"],
        })
    };
    let check = |terms: Value, spread: Value, affinity: Value| {
        let spec = |spread: &Value, affinity: &Value| {
            json!({
                "topologySpreadConstraints": [term(spread.clone())],
                "affinity": {
                    "podAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": [term(affinity.clone())],
                    },
                    "podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
                        {"weight": 1, "podAffinityTerm": term(affinity.clone())}
                    ]},
                },
            })
        };
        let labels = json!({"labels": {"a": "1", "b": "2"}});
        let pod = created("pods", json!({"metadata": labels, "spec": spec(&terms, &terms)}));
        assert_eq!(pod["spec"], spec(&spread, &affinity));
    };
    let requirement = json!({"key": "a", "operator": "In", "values": ["1"]});
    let other = json!({"key": "b", "operator": "NotIn", "values": ["2"]});
    let all = |requirements: Value| json!({"matchExpressions": requirements});
    check(json!({}), all(json!([requirement])), all(json!([requirement, other])));
    let before = json!({"key": "k", "operator": "Exists"});
    check(all(json!([before])), all(json!([before, requirement])), all(json!([before, requirement, other])));
    check(Value::Null, Value::Null, Value::Null);
}

#[test]
fn app_armor_annotations_become_fields() {
    let check = |annotation: &str, context: Value, pod: Value, expected: Value| {
        let key = "container.apparmor.security.beta.kubernetes.io/c";
        let object = created(
            "pods",
            json!({
                "metadata": {"annotations": {key: annotation}},
                "spec": {
                    "containers": [{"name": "c", "securityContext": context}, {"name": "d"}],
                    "securityContext": pod,
                },
            }),
        );
        let expected = json!([{"name": "c", "securityContext": expected}, {"name": "d"}]);
        assert_eq!(object["spec"]["containers"], expected, "{annotation}");
    };
    let of = |profile: Value| json!({"appArmorProfile": profile});
    let default = of(json!({"type": "RuntimeDefault"}));
    check("runtime/default", json!({}), json!({}), default.clone());
    check("unconfined", Value::Null, json!({}), of(json!({"type": "Unconfined"})));
    let local = of(json!({"type": "Localhost", "localhostProfile": "p"}));
    check("localhost/p", json!({}), json!({}), local.clone());
    check("localhost/p", json!({}), default.clone(), local.clone());
    check("localhost/p", default.clone(), json!({}), default.clone());
    check("runtime/default", json!({}), default, json!({}));
    for invalid in ["localhost/", "localhost/ p", "none"] {
        check(invalid, json!({}), json!({}), json!({}));
    }
}

#[test]
fn windows_has_no_app_armor() {
    let spec = json!({"os": {"name": "windows"}, "containers": [{"name": "c"}]});
    let annotations = json!({"container.apparmor.security.beta.kubernetes.io/c": "unconfined"});
    let pod = created("pods", json!({"metadata": {"annotations": annotations}, "spec": spec.clone()}));
    assert_eq!(pod["spec"], spec);
}
