//! Tests of gated fields.

use component_base::features::Gate;

use super::*;

/// Checks that a create drops the field, and that an update keeps an existing field but does not add it.
fn check(plural: &str, with: Value, without: Value) {
    let spec = |value: &Value| {
        let mut object = object(value.clone());
        object.remove("metadata");
        Value::Object(object)
    };
    let created_object = created(plural, with.clone());
    for (name, value) in object(without.clone()) {
        assert_eq!(created_object[&name], value, "created {plural}");
    }
    assert_eq!(spec(&updated(plural, with.clone(), with.clone())), with, "kept {plural}");
    assert_eq!(spec(&updated(plural, without.clone(), with)), without, "updated {plural}");
}

#[test]
fn unused_gated_field_is_dropped() {
    check("leases", json!({"spec": {"strategy": "s"}}), json!({"spec": {}}));
    check("leases", json!({"spec": {"preferredHolder": "s"}}), json!({"spec": {}}));
    let directory = |more: Value| json!({"spec": {"volumes": [{"emptyDir": more}]}});
    check("pods", directory(json!({"mode": 1})), directory(json!({})));
    let probe = |more: Value| json!({"spec": {"containers": [{"livenessProbe": more}]}});
    check("pods", probe(json!({"httpGet": {"protocol": "HTTP2"}})), probe(json!({"httpGet": {}})));
    check("pods", probe(json!({"grpc": {"mode": "TLS"}})), probe(json!({"grpc": {}})));
    let secret = |more: Value| json!({"spec": {"volumes": [{"secret": more}]}});
    check("pods", secret(json!({"defaultUser": 1})), secret(json!({})));
    check("pods", json!({"spec": {"evictionResponders": [{"name": "a"}]}}), json!({"spec": {}}));
    let job = |spec: Value| json!({"spec": {"jobTemplate": {"spec": spec}}});
    check("cronjobs", job(json!({"scheduling": {}})), job(json!({})));
    check("nodes", json!({"spec": {"podPreemptionPolicy": {}}}), json!({"spec": {}}));
    check("nodes", json!({"spec": {"configSource": {}}}), json!({"spec": {}}));
    check("podgroups", json!({"spec": {"resourceClaims": [{"name": "a"}]}}), json!({"spec": {}}));
    let device = |more: Value| json!({"spec": {"devices": [{"attributes": {"a": more, "b": {"int": 1}}}]}});
    check("resourceslices", device(json!({"ints": [1]})), device(json!({})));
}

#[test]
fn a_node_gets_no_configuration_status() {
    let status = |status: Value| json!({"metadata": {}, "spec": {}, "status": status});
    let with = json!({"config": {"error": "e"}, "phase": "p"});
    let without = json!({"phase": "p"});
    assert_eq!(created("nodes", status(with.clone()))["status"], without);
    let put =
        |old: &Value| updated("nodes/status", status(old.clone()), status(with.clone()))["status"].clone();
    assert_eq!((put(&without), put(&with)), (without, with));
}

#[test]
fn pod_templates_drop_gated_fields() {
    let gated = json!({
        "schedulingGroup": {"podGroupName": "g"},
        "containers": [
            {"name": "a", "lifecycle": {"stopSignal": "SIGUSR1"}},
            {"name": "b", "lifecycle": {"stopSignal": "SIGUSR1", "preStop": {}}},
            {"name": "c", "lifecycle": {}},
        ],
        "volumes": [{"name": "v", "projected": {"sources": [
            {"clusterTrustBundle": {"path": "p", "user": 1}}, {"secret": {"items": [{"key": "k", "user": 1}]}},
        ]}}],
    });
    let plain = json!({
        "containers": [
            {"name": "a"},
            {"name": "b", "lifecycle": {"preStop": {}}},
            {"name": "c", "lifecycle": {}},
        ],
        "volumes": [{"name": "v", "projected": {"sources": [
            {"clusterTrustBundle": {"path": "p"}}, {"secret": {"items": [{"key": "k"}]}},
        ]}}],
    });
    for (plural, pointer, of) in [
        ("pods", "/spec", (|spec| json!({"spec": spec})) as fn(&Value) -> Value),
        ("podtemplates", "/template/spec", |spec| json!({"template": {"spec": spec}})),
        ("replicationcontrollers", "/spec/template/spec", in_template),
        ("replicasets", "/spec/template/spec", in_template),
        ("deployments", "/spec/template/spec", in_template),
        ("daemonsets", "/spec/template/spec", in_template),
        ("statefulsets", "/spec/template/spec", in_template),
        ("jobs", "/spec/template/spec", in_template),
        (
            "cronjobs",
            "/spec/jobTemplate/spec/template/spec",
            |spec| json!({"spec": {"jobTemplate": in_template(spec)}}),
        ),
    ] {
        let at = |value: Value| value.pointer(pointer).cloned();
        assert_eq!(at(created(plural, of(&gated))), Some(plain.clone()), "{plural}");
        let object = updated(plural, of(&gated), of(&gated));
        assert_eq!(at(object), Some(gated.clone()), "{plural}");
    }
}

fn in_template(spec: &Value) -> Value {
    json!({"spec": {"template": {"spec": spec}}})
}

#[test]
fn autoscaler_generation_is_gated() {
    let generation = |gates| {
        let created = created_with(gates, "horizontalpodautoscalers", json!({"metadata": {}, "spec": {}}));
        created["metadata"]["generation"].clone()
    };
    assert_eq!(generation(Gates::default()), 1);
    assert_eq!(generation(Gates::default().with(Gate::HPAGeneration, false)), Value::Null);
    let update = |gates| {
        let old = json!({"metadata": {"generation": 3}, "spec": {"maxReplicas": 1}});
        let new = json!({"metadata": {}, "spec": {"maxReplicas": 2}});
        meta::generation(&object(updated_with(gates, "horizontalpodautoscalers", old, new)))
    };
    assert_eq!(update(Gates::default()), 4);
    assert_eq!(update(Gates::default().with(Gate::HPAGeneration, false)), 3);
}

#[test]
fn one_stop_signal_in_use_permits_all() {
    let spec = |containers: Value, init: Value| {
        json!({
            "metadata": {},
            "spec": {"containers": containers, "initContainers": init},
        })
    };
    let signal = json!([{"lifecycle": {"stopSignal": "SIGUSR1"}}]);
    let old = spec(json!([{}]), signal.clone());
    let new = spec(signal.clone(), signal);
    assert_eq!(updated("pods", old, new.clone())["spec"], new["spec"]);
}

#[test]
fn sidecar_policy_is_no_restart_rule() {
    let gates = Gates::default().with(Gate::ContainerRestartRules, false);
    let init = |policy: &str| json!({"restartPolicy": policy});
    let pod = |containers: Value, init: Value| json!({"metadata": {}, "spec": {"containers": containers, "initContainers": init}});
    let new = pod(json!([init("Always")]), json!([init("Always"), init("Never")]));
    let spec = |old: Value| updated_with(gates, "pods", old, new.clone())["spec"].clone();
    let dropped = pod(json!([{}]), json!([init("Always"), {}]));
    let sidecar = pod(json!([{}]), json!([init("Always")]));
    assert_eq!(spec(sidecar), dropped["spec"]);
    assert_eq!(spec(pod(json!([{}]), json!([init("Never")]))), new["spec"]);
}

#[test]
fn image_volumes_lose_their_mounts() {
    let gates = Gates::default().with(Gate::ImageVolume, false);
    let pod = json!({"metadata": {}, "spec": {
        "volumes": [{"name": "a", "image": {"reference": "r"}}],
        "containers": [{"volumeMounts": [{"name": "a"}, {"name": "b"}]}],
        "initContainers": [{"volumeMounts": [{"name": "a"}]}],
    }});
    let dropped = json!({"containers": [{"volumeMounts": [{"name": "b"}]}], "initContainers": [{}]});
    assert_eq!(created_with(gates, "pods", pod.clone())["spec"], dropped);
    assert_eq!(updated_with(gates, "pods", pod.clone(), pod.clone())["spec"], pod["spec"]);
}

#[test]
fn unmasked_proc_mount_becomes_default() {
    let gates = Gates::default().with(Gate::ProcMountType, false);
    let pod = |mount: &str| json!({"metadata": {}, "spec": {"containers": [{"securityContext": {"procMount": mount}}]}});
    let updated = |old: &str| updated_with(gates, "pods", pod(old), pod("Unmasked"))["spec"].clone();
    assert_eq!(updated("Default"), pod("Default")["spec"]);
    assert_eq!(updated("Unmasked"), pod("Unmasked")["spec"]);
}

#[test]
fn workload_templates_are_compared_by_position() {
    let of = |templates: Value| json!({"metadata": {}, "spec": {"podGroupTemplates": templates}});
    let old = of(json!([{"name": "a", "preemptionPolicy": "x"}, {"name": "b"}]));
    let policy = json!({"preemptionPolicy": "y"});
    let new =
        of(json!([{"name": "a", "preemptionPolicy": "y"}, {"name": "b", "preemptionPolicy": "y"}, policy]));
    let expected = json!([{"name": "a", "preemptionPolicy": "y"}, {"name": "b"}, {}]);
    assert_eq!(updated("workloads", old, new)["spec"]["podGroupTemplates"], expected);
}

#[test]
fn only_slices_count_dropped_changes() {
    let generation = |plural: &str, old: Value, new: Value| {
        let mut old = object(old);
        let new = object(new);
        meta::set_generation(&mut old, 1);
        meta::generation(&object(updated(plural, Value::Object(old), Value::Object(new))))
    };
    let device = |more: Value| json!({"spec": {"devices": [more]}});
    let mapped = device(json!({"nodeAllocatableResources": {"cpu": {}}}));
    assert_eq!(generation("resourceslices", device(json!({})), mapped), 2);
    let spec = |more: Value| json!({"spec": {"template": {"spec": more}}});
    let responders = json!({"evictionResponders": [{"name": "a"}]});
    assert_eq!(generation("statefulsets", spec(json!({})), spec(responders)), 1);
}

/// Checks that with the gate disabled the field is dropped or kept as above, and that with the gate enabled
/// it is added.
fn check_gate(gate: Gate, plural: &str, with: Value, without: Value) {
    let open = Gates::default().with(gate, true);
    let closed = Gates::default().with(gate, false);
    let plain = |value: Value| {
        let mut value = object(value);
        value.remove("metadata");
        Value::Object(value)
    };
    let main = plural.split('/').next().unwrap();
    if main == plural {
        assert_eq!(plain(created_with(open, plural, with.clone()))["spec"], with["spec"], "open {gate:?}");
        assert_eq!(
            plain(created_with(closed, plural, with.clone()))["spec"],
            without["spec"],
            "closed {gate:?}"
        );
    }
    let update = |gates, old: &Value| plain(updated_with(gates, plural, old.clone(), with.clone()));
    assert_eq!(update(open, &without), with, "{gate:?} was opened");
    assert_eq!(update(closed, &without), without, "{gate:?} is closed");
    assert_eq!(update(closed, &with), with, "{gate:?} was closed");
}

#[test]
fn gate_overrides_default() {
    let spec = |spec: Value| json!({"spec": spec});
    check_gate(
        Gate::CRDObservedGenerationTracking,
        "customresourcedefinitions/status",
        json!({"status": {"observedGeneration": 1, "conditions": [{"type": "a", "observedGeneration": 1}]}}),
        json!({"status": {"conditions": [{"type": "a"}]}}),
    );
    check_gate(Gate::CoordinatedLeaderElection, "leases", spec(json!({"strategy": "s"})), spec(json!({})));
    check_gate(
        Gate::HPAConfigurableTolerance,
        "horizontalpodautoscalers",
        spec(json!({"behavior": {"scaleUp": {"tolerance": "1", "policies": []}}})),
        spec(json!({"behavior": {"scaleUp": {"policies": []}}})),
    );
    let rolling = |more: Value| spec(json!({"updateStrategy": {"rollingUpdate": more}}));
    check_gate(
        Gate::MaxUnavailableStatefulSet,
        "statefulsets",
        rolling(json!({"maxUnavailable": 2, "partition": 0})),
        rolling(json!({"partition": 0})),
    );
    check_gate(
        Gate::VolumeLimitScaling,
        "csidrivers",
        spec(json!({"preventPodSchedulingIfMissing": true})),
        spec(json!({})),
    );
    check_gate(
        Gate::DRAExtendedResource,
        "deviceclasses",
        spec(json!({"extendedResourceName": "a/b"})),
        spec(json!({})),
    );
    check_gate(
        Gate::DRAPrioritizedList,
        "resourceclaimtemplates",
        spec(json!({"spec": {"devices": {"requests": [{"name": "a", "firstAvailable": [{"name": "b"}]}]}}})),
        spec(json!({"spec": {"devices": {"requests": [{"name": "a"}]}}})),
    );
    check_gate(
        Gate::DRADeviceTaints,
        "resourceslices",
        spec(json!({"devices": [{"name": "a", "taints": [{"key": "k"}]}]})),
        spec(json!({"devices": [{"name": "a"}]})),
    );
    check_gate(
        Gate::HostnameOverride,
        "deployments",
        spec(json!({"template": {"spec": {"hostnameOverride": "h"}}})),
        spec(json!({"template": {"spec": {}}})),
    );
}

#[test]
fn status_fields_are_used_if_spec_is() {
    let closed = Gates::default().with(Gate::InPlacePodVerticalScaling, false);
    let pod = |policy: Value, status: Value| json!({"metadata": {}, "spec": {"containers": [policy]}, "status": {"containerStatuses": [status]}});
    let policy = json!({"resizePolicy": [{"resourceName": "cpu"}]});
    let status = json!({"name": "a", "resources": {"requests": {"cpu": "1"}}});
    let put = |policy: Value| {
        let old = pod(policy.clone(), json!({"name": "a"}));
        let new = pod(policy, status.clone());
        updated_with(closed, "pods/status", old, new)["status"]["containerStatuses"][0].clone()
    };
    assert_eq!(put(policy), status);
    assert_eq!(put(json!({})), json!({"name": "a"}));
}

#[test]
fn node_status_keeps_declared_features() {
    let closed = Gates::default().with(Gate::NodeDeclaredFeatures, false);
    let node = |status: Value| json!({"metadata": {}, "spec": {}, "status": status});
    let declared = json!({"declaredFeatures": ["F"]});
    assert_eq!(created_with(closed, "nodes", node(declared.clone()))["status"], json!({}));
    let put = updated_with(closed, "nodes/status", node(json!({})), node(declared.clone()));
    assert_eq!(put["status"], declared);
}

#[test]
fn ranges_keep_status_without_gate() {
    let status = json!({"conditions": [{"type": "Ready"}]});
    let sent = json!({"metadata": {}, "spec": {}, "status": status});
    let check = |wipes: bool, expected: Value| {
        let gates = Gates::default().with(Gate::ServiceCIDRStatusFieldWiping, wipes);
        assert_eq!(created_with(gates, "servicecidrs", sent.clone())["status"], expected);
        let old = json!({"metadata": {}, "spec": {}});
        assert_eq!(updated_with(gates, "servicecidrs", old, sent.clone())["status"], expected);
    };
    check(true, Value::Null);
    check(false, status.clone());
}
