//! Tests of pods.

use super::*;

/// Checks the pod spec at `pointer` after defaulting.
fn check_spec(pointer: &str, before: &Value, after: Value) {
    check_at("v1", "Pod", &format!("/spec{pointer}"), &json!({"spec": before}), after);
}

/// Checks the resources of the only container of a pod.
fn check_resources(before: Value, after: Value) {
    check_spec("/containers/0/resources", &json!({"containers": [{"resources": before}]}), after);
}

/// Checks the pod-level resources as before v1.37, when they were set on decoding.
fn check_pod_level(before: &Value, after: Value) {
    let gates = Gates::default().with(Gate::PodLevelResourcesFixDefaulting, false);
    let mut pod = json!({"spec": before}).as_object().unwrap().clone();
    apply("v1", "Pod", &mut pod, &gates);
    assert_eq!(pod["spec"].get("resources").unwrap_or(&Value::Null), &after, "{before}");
}

#[test]
fn pod_level_resources_are_not_set_on_decoding() {
    let resources = json!({"limits": {"cpu": "4"}});
    check_spec("/resources", &json!({"resources": resources}), resources.clone());
}

#[test]
fn probes_use_http1_with_gate() {
    let get = |more: Value| json!({"containers": [{"livenessProbe": {"httpGet": more}}]});
    let gates = Gates::default().with(Gate::H2CContainerProbe, true);
    let mut pod = json!({"spec": get(json!({}))}).as_object().unwrap().clone();
    apply("v1", "Pod", &mut pod, &gates);
    let pointer = "/containers/0/livenessProbe/httpGet/protocol";
    assert_eq!(pod["spec"].pointer(pointer), Some(&json!("HTTP1")));
    check_spec(pointer, &get(json!({})), Value::Null);
}

#[test]
fn minimal_pod_is_completed() {
    check(
        "v1",
        "Pod",
        json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}),
        json!({"metadata": {"name": "p"}, "spec": {
            "containers": [{
                "name": "c", "image": "i", "imagePullPolicy": "Always",
                "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
            }],
            "dnsPolicy": "ClusterFirst", "enableServiceLinks": true, "restartPolicy": "Always",
            "schedulerName": "default-scheduler", "securityContext": {}, "terminationGracePeriodSeconds": 30,
        }}),
    );
}

#[test]
fn a_zero_behind_a_pointer_is_kept() {
    let spec = json!({"terminationGracePeriodSeconds": 0, "enableServiceLinks": false});
    check_spec("/terminationGracePeriodSeconds", &spec, json!(0));
    check_spec("/enableServiceLinks", &spec, json!(false));
}

#[test]
fn explicit_zero_value_counts_as_absent() {
    let spec = json!({"dnsPolicy": "", "schedulerName": null, "containers": [
        null,
        {"imagePullPolicy": "", "livenessProbe": {"periodSeconds": 0, "grpc": {"port": 1}}},
    ]});
    check_spec("/dnsPolicy", &spec, json!("ClusterFirst"));
    check_spec("/schedulerName", &spec, json!("default-scheduler"));
    check_spec("/containers/0/imagePullPolicy", &spec, json!("IfNotPresent"));
    check_spec("/containers/1/imagePullPolicy", &spec, json!("IfNotPresent"));
    let probe = json!({
        "periodSeconds": 10, "timeoutSeconds": 1, "successThreshold": 1, "failureThreshold": 3,
        "grpc": {"port": 1, "service": ""},
    });
    check_spec("/containers/1/livenessProbe", &spec, probe);
}

#[test]
fn requests_default_to_limits() {
    check_resources(
        json!({"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "1", "x/y": "1"}}),
        json!({"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "1", "memory": "1Gi", "x/y": "1"}}),
    );
    check_resources(json!({"requests": {"cpu": "1"}}), json!({"requests": {"cpu": "1"}}));
    check_resources(json!({"limits": {}}), json!({"limits": {}, "requests": {}}));
}

#[test]
fn requests_default_to_limits_in_pods_alone() {
    let limits = json!({"limits": {"cpu": "2"}});
    for list in ["containers", "initContainers"] {
        let spec = json!({list: [{"resources": limits}]});
        check_spec(&format!("/{list}/0/resources/requests"), &spec, json!({"cpu": "2"}));
        let template = json!({"template": {"spec": spec}});
        check_at(
            "v1",
            "PodTemplate",
            &format!("/template/spec/{list}/0/resources"),
            &template,
            limits.clone(),
        );
    }
    let spec = json!({"ephemeralContainers": [{"resources": limits}]});
    check_spec("/ephemeralContainers/0/resources", &spec, limits);
}

#[test]
fn quantities_are_rounded_up_to_thousandths() {
    let rounded = [
        ("1n", "1m"),
        ("1500u", "2m"),
        ("-1500u", "-2m"),
        ("1m", "1m"),
        ("1Gi", "1Gi"),
        ("0", "0"),
        ("1e3", "1e3"),
        ("1234e-6", "2e-3"),
        ("12E", "12E"),
    ];
    for (before, after) in rounded {
        check_resources(json!({"requests": {"cpu": before}}), json!({"requests": {"cpu": after}}));
        check_spec("/overhead", &json!({"overhead": {"cpu": before}}), json!({"cpu": after}));
        let status = json!({"status": {"containerStatuses": [{"allocatedResources": {"cpu": before}}]}});
        let pointer = "/status/containerStatuses/0/allocatedResources/cpu";
        check_at("v1", "Pod", pointer, &status, json!(after));
    }
}

#[test]
fn host_network_sets_host_ports() {
    let ports = json!([{"containerPort": 80}, {"containerPort": 81, "hostPort": 82}, {"hostPort": 0, "protocol": "UDP"}]);
    let bare = json!([
        {"containerPort": 80, "protocol": "TCP"},
        {"containerPort": 81, "hostPort": 82, "protocol": "TCP"},
        {"hostPort": 0, "protocol": "UDP"},
    ]);
    let mut shared = bare.clone();
    shared[0]["hostPort"] = json!(80);
    for list in ["containers", "initContainers"] {
        let mut spec = json!({list: [{"ports": ports}]});
        check_spec(&format!("/{list}/0/ports"), &spec, bare.clone());
        spec["hostNetwork"] = json!(true);
        check_spec(&format!("/{list}/0/ports"), &spec, shared.clone());
    }
    let spec = json!({"hostNetwork": true, "ephemeralContainers": [{"ports": ports}]});
    check_spec("/ephemeralContainers/0/ports", &spec, bare);
}

#[test]
fn volume_without_source_is_empty_dir() {
    let volumes = |volume: Value| json!({"volumes": [volume]});
    check_spec("/volumes/0", &volumes(json!({"name": "v"})), json!({"name": "v", "emptyDir": {}}));
    check_spec(
        "/volumes/0",
        &volumes(json!({"name": "v", "nfs": null})),
        json!({"name": "v", "nfs": null, "emptyDir": {}}),
    );
    check_spec("/volumes/0", &volumes(json!({"name": "v", "nfs": {}})), json!({"name": "v", "nfs": {}}));
    check_spec(
        "/volumes/0",
        &volumes(json!({"name": "v", "unknown": {}})),
        json!({"name": "v", "unknown": {}, "emptyDir": {}}),
    );
}

#[test]
fn volumes_are_completed_by_their_source() {
    let sources = [
        ("secret", json!({"secretName": "s"}), json!({"secretName": "s", "defaultMode": 420})),
        ("secret", json!({"defaultMode": 0}), json!({"defaultMode": 0})),
        ("hostPath", json!({"path": "/"}), json!({"path": "/", "type": ""})),
        ("image", json!({"reference": "a"}), json!({"reference": "a", "pullPolicy": "Always"})),
        ("image", json!({"reference": "a:1"}), json!({"reference": "a:1", "pullPolicy": "IfNotPresent"})),
        ("image", json!({"pullPolicy": "Never"}), json!({"pullPolicy": "Never"})),
        (
            "ephemeral",
            json!({"volumeClaimTemplate": {}}),
            json!({"volumeClaimTemplate": {"spec": {"volumeMode": "Filesystem"}}}),
        ),
        (
            "projected",
            json!({"sources": [{"serviceAccountToken": {}}, {"secret": {}}, {"downwardAPI": {"items": [{"fieldRef": {}}]}}]}),
            json!({"defaultMode": 420, "sources": [
                {"serviceAccountToken": {"expirationSeconds": 3600}}, {"secret": {}},
                {"downwardAPI": {"items": [{"fieldRef": {"apiVersion": "v1"}}]}},
            ]}),
        ),
    ];
    for (source, before, after) in sources {
        check_spec(&format!("/volumes/0/{source}"), &json!({"volumes": [{source: before}]}), after);
    }
}

#[test]
fn pod_requests_come_from_containers_then_limits() {
    let limits = json!({"cpu": "4", "memory": "4Gi", "hugepages-2Mi": "8Mi", "x/y": "1"});
    check_pod_level(
        &json!({"resources": {"limits": limits}, "containers": [
            {"resources": {"requests": {"cpu": "500m", "x/y": "1"}}}, {"resources": {"requests": {"cpu": "1"}}},
        ]}),
        json!({"limits": limits, "requests": {"cpu": "1500m", "memory": "4Gi", "hugepages-2Mi": "8Mi"}}),
    );
    check_pod_level(
        &json!({"resources": {"limits": {"cpu": "4"}, "requests": {"cpu": "2"}}, "containers": [
            {"resources": {"limits": {"memory": "1Gi"}}},
        ]}),
        json!({"limits": {"cpu": "4"}, "requests": {"cpu": "2", "memory": "1Gi"}}),
    );
}

#[test]
fn pod_level_requests_need_pod_level_limits() {
    let containers = json!([{"resources": {"requests": {"cpu": "1"}}}]);
    for resources in [json!({}), json!({"requests": {"memory": "1Gi"}}), json!({"limits": {}})] {
        check_pod_level(&json!({"resources": resources, "containers": containers}), resources);
    }
    check_pod_level(&json!({"containers": containers}), Value::Null);
}

#[test]
fn larger_init_containers_set_pod_requests() {
    let container = |cpu: &str| json!({"resources": {"requests": {"cpu": cpu}}});
    let sidecar = |cpu: &str| json!({"restartPolicy": "Always", "resources": {"requests": {"cpu": cpu}}});
    let cases = [
        (json!([container("1")]), "2"),
        (json!([container("3"), container("1")]), "3"),
        (json!([sidecar("1")]), "3"),
        (json!([sidecar("1"), container("4")]), "5"),
        (json!([container("4"), sidecar("1")]), "4"),
        (json!([sidecar("1"), sidecar("2")]), "5"),
    ];
    for (init, cpu) in cases {
        let spec = json!({"resources": {"limits": {"memory": "1"}}, "containers": [container("2")], "initContainers": init});
        let requests = json!({"cpu": cpu, "memory": "1"});
        check_pod_level(&spec, json!({"limits": {"memory": "1"}, "requests": requests}));
    }
}

#[test]
fn pod_huge_page_limits_come_from_containers() {
    let containers = json!([
        {"resources": {"limits": {"hugepages-2Mi": "2Mi", "cpu": "1"}}},
        {"resources": {"limits": {"hugepages-2Mi": "4Mi", "hugepages-1Gi": "1Gi"}}},
    ]);
    check_pod_level(
        &json!({"resources": {"requests": {"cpu": "3"}}, "containers": containers}),
        json!({
            "limits": {"hugepages-2Mi": "6Mi", "hugepages-1Gi": "1Gi"},
            "requests": {"cpu": "3", "hugepages-2Mi": "6Mi", "hugepages-1Gi": "1Gi"},
        }),
    );
    check_pod_level(
        &json!({"resources": {"requests": {"hugepages-2Mi": "6Mi"}}, "containers": containers}),
        json!({
            "limits": {"hugepages-1Gi": "1Gi"},
            "requests": {"cpu": "1", "hugepages-2Mi": "6Mi", "hugepages-1Gi": "1Gi"},
        }),
    );
    check_pod_level(&json!({"resources": {}, "containers": containers}), json!({}));
}
