//! Tests of pod resizing.

use super::*;
use jsontree::json;

const ONLY: &str = "spec: Forbidden: only cpu and memory resources are mutable";

fn check_pods(new: Value, old: Value, expected: &[&str]) {
    let (Value::Object(new), Value::Object(old)) = (new, old) else { unreachable!("tests give objects") };
    let options = PodOptions { pod_level_resize: true, init_container_resize: true, ..PodOptions::default() };
    let errors = validate_pod_resize(&new, &old, &options, ErrorList::new());
    let texts: Vec<String> = errors.iter().map(Error::to_string).collect();
    assert_eq!(texts, expected, "{new:?}");
}

fn check(new: Value, old: Value, expected: &[&str]) {
    check_pods(json!({"spec": new}), json!({"spec": old}), expected);
}

fn container(requests: Value) -> Value {
    json!({"name": "a", "resources": {"requests": requests}})
}

fn pod(requests: Value) -> Value {
    json!({"containers": [container(requests)]})
}

fn init(requests: Value, more: Value) -> Value {
    let mut spec = pod(json!({"cpu": "1"}));
    let mut init = container(requests);
    if let (Some(init), Value::Object(more)) = (init.as_object_mut(), more) {
        init.extend(more);
        init.insert("name", "i".into());
    }
    if let Some(spec) = spec.as_object_mut() {
        spec.insert("initContainers", json!([init]));
    }
    spec
}

#[test]
fn cpu_and_memory_can_change() {
    check(pod(json!({"cpu": "2", "memory": "1Gi"})), pod(json!({"cpu": "1"})), &[]);
    check(init(json!({"cpu": "2"}), json!({})), init(json!({"cpu": "1"}), json!({})), &[]);
}

#[test]
fn nothing_else_can_change() {
    let new = json!({"cpu": "1", "x": "2"});
    let old = json!({"cpu": "1", "x": "1"});
    check(pod(new), pod(old), &[ONLY]);
    let mut renamed = pod(json!({"cpu": "1"}));
    renamed["nodeName"] = "n".into();
    check(renamed, pod(json!({"cpu": "1"})), &[ONLY]);
}

#[test]
fn requests_cannot_be_removed() {
    let new = json!({"cpu": "1"});
    let old = json!({"cpu": "1", "memory": "1Gi"});
    let removed = "resources.requests: Forbidden: resource requests cannot be removed";
    check(pod(new.clone()), pod(old.clone()), &[&format!("spec.containers[0].{removed}")]);
    check(init(new, json!({})), init(old, json!({})), &[&format!("spec.initContainers[0].{removed}")]);
}

#[test]
fn the_class_of_service_is_kept() {
    let detail = "Pod QOS Class may not change as a result of resizing";
    let expected = format!("spec: Invalid value: \"BestEffort\": {detail}");
    check_pods(
        json!({"spec": pod(json!({"cpu": "1"})), "status": {"qosClass": "BestEffort"}}),
        json!({"spec": pod(json!({})), "status": {"qosClass": "BestEffort"}}),
        &[&expected],
    );
}

#[test]
fn containers_stay_in_order() {
    let two = |a: &str, b: &str| json!({"containers": [{"name": a}, {"name": b}]});
    let detail = "containers may not be renamed or reordered on resize";
    check(
        two("b", "a"),
        two("a", "b"),
        &[
            &format!("spec.containers[0].name: Forbidden: {detail}"),
            &format!("spec.containers[1].name: Forbidden: {detail}"),
        ],
    );
    check(
        json!({"containers": [{"name": "a"}]}),
        two("a", "b"),
        &["spec.containers: Forbidden: containers may not be added or removed on resize"],
    );
}

#[test]
fn resize_must_not_restart_init_containers() {
    let restarting = json!({"resizePolicy": [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}]});
    let detail = "non-sidecar init containers with a resize policy of RestartContainer cannot be resized";
    let expected = format!("spec.initContainers[0]: Forbidden: {detail}");
    let new = json!({"cpu": "2"});
    let old = json!({"cpu": "1"});
    check(init(new.clone(), restarting.clone()), init(old.clone(), restarting.clone()), &[&expected]);
    check(init(old.clone(), restarting.clone()), init(old.clone(), restarting.clone()), &[]);
    let mut sidecar = restarting;
    sidecar["restartPolicy"] = "Always".into();
    check(init(new, sidecar.clone()), init(old, sidecar), &[]);
}

#[test]
fn pod_level_resources_can_change() {
    let pod = |resources: Value| json!({"containers": [{"name": "a"}], "resources": resources});
    let cpu = |quantity: &str| json!({"requests": {"cpu": quantity}});
    check(pod(cpu("2")), pod(cpu("1")), &[]);
    check(
        pod(json!({"requests": {"memory": "1Gi"}})),
        pod(cpu("1")),
        &["spec.resources.requests: Forbidden: pod-level resource requests cannot be removed"],
    );
    let huge = json!({"requests": {"cpu": "1", "hugepages-2Mi": "2Mi"}});
    let expected = "spec: Forbidden: only cpu and memory resources are mutable at pod-level";
    check(pod(huge), pod(cpu("1")), &[expected]);
    check(
        json!({"containers": [{"name": "a", "resources": cpu("1")}]}),
        json!({"containers": [{"name": "a", "resources": cpu("1")}], "resources": cpu("1")}),
        &["spec.resources: Forbidden: pod-level resources cannot be removed"],
    );
}

#[test]
fn some_pods_cannot_be_resized_at_all() {
    let spec = pod(json!({"cpu": "1"}));
    let mirror = json!({"metadata": {"annotations": {"kubernetes.io/config.mirror": "x"}}, "spec": spec});
    check_pods(mirror.clone(), mirror, &["[]: Forbidden: static pods cannot be resized"]);
    let windows = json!({"spec": {"os": {"name": "windows"}}});
    check_pods(windows.clone(), windows, &["[]: Forbidden: windows pods cannot be resized"]);
    let old_node = json!({"spec": spec, "status": {"containerStatuses": [{"state": {"running": {}}}]}});
    let expected = "spec: Forbidden: Pod running on node without support for resize";
    check_pods(old_node.clone(), old_node, &[expected]);
}
