//! Tests of workloads, services and storage.

use super::*;

#[test]
fn deployments_default_to_rolling_updates() {
    let quarter = json!({"maxUnavailable": "25%", "maxSurge": "25%"});
    let cases = [
        (json!({}), json!({"type": "RollingUpdate", "rollingUpdate": quarter})),
        (json!({"type": "RollingUpdate"}), json!({"type": "RollingUpdate", "rollingUpdate": quarter})),
        (json!({"type": "Recreate"}), json!({"type": "Recreate"})),
        (
            json!({"rollingUpdate": {"maxSurge": 0}}),
            json!({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": 0}}),
        ),
    ];
    for (before, after) in cases {
        check_at("apps/v1", "Deployment", "/spec/strategy", &json!({"spec": {"strategy": before}}), after);
    }
}

#[test]
fn daemon_sets_replace_one_at_a_time() {
    let cases = [
        (json!({}), json!({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}})),
        (json!({"type": "OnDelete"}), json!({"type": "OnDelete"})),
    ];
    for (before, after) in cases {
        check_at(
            "apps/v1",
            "DaemonSet",
            "/spec/updateStrategy",
            &json!({"spec": {"updateStrategy": before}}),
            after,
        );
    }
}

#[test]
fn bare_stateful_set_strategy_gets_no_partition() {
    let rolling = json!({"type": "RollingUpdate", "rollingUpdate": {"partition": 0, "maxUnavailable": 1}});
    let cases = [
        (json!({}), rolling.clone()),
        (json!({"type": "RollingUpdate"}), json!({"type": "RollingUpdate"})),
        (json!({"type": "RollingUpdate", "rollingUpdate": {}}), rolling),
        (json!({"type": "OnDelete"}), json!({"type": "OnDelete"})),
    ];
    for (before, after) in cases {
        check_at(
            "apps/v1",
            "StatefulSet",
            "/spec/updateStrategy",
            &json!({"spec": {"updateStrategy": before}}),
            after,
        );
    }
}

#[test]
fn job_without_labels_shares_pod_labels() {
    let check = |kind: &str, labels: Value, pods: Value, shares: bool| {
        let job =
            json!({"metadata": {"labels": labels}, "spec": {"template": {"metadata": {"labels": pods}}}});
        assert_eq!(shares_labels("batch/v1", kind, job.as_object().unwrap()), shares, "{job}");
    };
    check("Job", json!({}), json!({"a": "b"}), true);
    check("Job", Value::Null, json!({}), true);
    check("Job", Value::Null, Value::Null, false);
    check("Job", json!({"a": "b"}), json!({"a": "b"}), false);
    check("CronJob", json!({}), json!({"a": "b"}), false);
}

#[test]
fn some_defaults_need_feature_gates() {
    let check = |gate: Gate, (api_version, kind): (&str, &str), object: Value, pointer: &str, open: Value| {
        for (opens, expected) in [(true, open), (false, Value::Null)] {
            let mut object = object.as_object().unwrap().clone();
            apply(api_version, kind, &mut object, &Gates::default().with(gate, opens));
            let value = Value::Object(object);
            assert_eq!(value.pointer(pointer).unwrap_or(&Value::Null), &expected, "{} {opens}", gate.name());
        }
    };
    let set = ("apps/v1", "StatefulSet");
    let driver = ("storage.k8s.io/v1", "CSIDriver");
    let unavailable = "/spec/updateStrategy/rollingUpdate/maxUnavailable";
    check(Gate::MaxUnavailableStatefulSet, set, json!({}), unavailable, json!(1));
    check(Gate::SELinuxMountReadWriteOncePod, driver, json!({}), "/spec/seLinuxMount", json!(false));
    let missing = "/spec/preventPodSchedulingIfMissing";
    check(Gate::VolumeLimitScaling, driver, json!({}), missing, json!(false));
    let pod = |spec: Value| json!({"spec": spec});
    let image = pod(json!({"volumes": [{"image": {"reference": "a:b"}}]}));
    let policy = "/spec/volumes/0/image/pullPolicy";
    check(Gate::ImageVolume, ("v1", "Pod"), image, policy, json!("IfNotPresent"));
}

#[test]
fn claim_templates_are_claims() {
    let claim = json!({"spec": {"volumeMode": "Filesystem"}, "status": {"phase": "Pending"}});
    let set = json!({"spec": {"volumeClaimTemplates": [{}]}});
    check_at("apps/v1", "StatefulSet", "/spec/volumeClaimTemplates/0", &set, claim.clone());
    check("v1", "PersistentVolumeClaim", json!({}), claim);
}

#[test]
fn jobs_and_controllers_copy_template_labels() {
    let labels = json!({"a": "b"});
    let spec = json!({"template": {"metadata": {"labels": labels}}});
    for (api_version, kind) in [("v1", "ReplicationController"), ("batch/v1", "Job")] {
        let check_at = |pointer: &str, before: &Value, after: &Value| {
            check_at(api_version, kind, pointer, before, after.clone());
        };
        check_at("/metadata/labels", &json!({"spec": spec}), &labels);
        check_at("/metadata/labels", &json!({"metadata": {"labels": {}}, "spec": spec}), &labels);
        let labels = json!({"c": "d"});
        check_at("/metadata/labels", &json!({"metadata": {"labels": labels}, "spec": spec}), &labels);
        check_at("/metadata", &json!({"spec": {"template": {}}}), &Value::Null);
    }
    check_at("v1", "ReplicationController", "/spec/selector", &json!({"spec": spec}), labels);
    check_at("apps/v1", "ReplicaSet", "/spec/selector", &json!({"spec": spec}), Value::Null);
    check_at("apps/v1", "Deployment", "/metadata", &json!({"spec": spec}), Value::Null);
}

#[test]
fn job_defaults_to_one_pod_or_queue() {
    let cases = [
        (json!({}), json!([1, 1])),
        (json!({"completions": 3}), json!([3, 1])),
        (json!({"parallelism": 3}), json!([null, 3])),
        (json!({"parallelism": 0}), json!([null, 0])),
    ];
    for (spec, after) in cases {
        let job = json!({"spec": spec});
        check_at("batch/v1", "Job", "/spec/completions", &job, after[0].clone());
        check_at("batch/v1", "Job", "/spec/parallelism", &job, after[1].clone());
    }
}

#[test]
fn a_jobs_limits_and_policies_fit_each_other() {
    let check_spec = |name: &str, spec: Value, after: Value| {
        check_at("batch/v1", "Job", &format!("/spec/{name}"), &json!({"spec": spec}), after);
    };
    check_spec("backoffLimit", json!({}), json!(6));
    check_spec("backoffLimit", json!({"backoffLimit": 0}), json!(0));
    check_spec("backoffLimit", json!({"backoffLimitPerIndex": 0}), json!(2_147_483_647));
    check_spec("podReplacementPolicy", json!({}), json!("TerminatingOrFailed"));
    check_spec("podReplacementPolicy", json!({"podFailurePolicy": {}}), json!("Failed"));
    let rules = json!({"podFailurePolicy": {"rules": [{"onPodConditions": [{"type": "x"}]}]}});
    let status = "podFailurePolicy/rules/0/onPodConditions/0/status";
    check_spec(status, rules.clone(), json!("True"));
    let template = json!({"spec": {"jobTemplate": {"spec": rules}}});
    check_at("batch/v1", "CronJob", &format!("/spec/jobTemplate/spec/{status}"), &template, json!("True"));
    check_at("batch/v1", "CronJob", "/spec/jobTemplate/spec/backoffLimit", &template, Value::Null);
}

/// Checks the spec of a service.
fn check_service(before: Value, after: Value) {
    check("v1", "Service", json!({"spec": before}), json!({"spec": after}));
}

#[test]
fn services_are_completed_by_their_type() {
    check_service(
        json!({}),
        json!({"type": "ClusterIP", "sessionAffinity": "None", "internalTrafficPolicy": "Cluster"}),
    );
    check_service(
        json!({"externalIPs": ["192.0.2.1"]}),
        json!({"externalIPs": ["192.0.2.1"], "type": "ClusterIP", "sessionAffinity": "None",
            "internalTrafficPolicy": "Cluster", "externalTrafficPolicy": "Cluster"}),
    );
    check_service(
        json!({"type": "NodePort", "externalTrafficPolicy": "Local"}),
        json!({"type": "NodePort", "sessionAffinity": "None", "internalTrafficPolicy": "Cluster",
            "externalTrafficPolicy": "Local"}),
    );
    check_service(
        json!({"type": "LoadBalancer"}),
        json!({"type": "LoadBalancer", "sessionAffinity": "None", "internalTrafficPolicy": "Cluster",
            "externalTrafficPolicy": "Cluster", "allocateLoadBalancerNodePorts": true}),
    );
    check_service(
        json!({"type": "ExternalName"}),
        json!({"type": "ExternalName", "sessionAffinity": "None"}),
    );
}

#[test]
fn session_affinity_configuration_is_complete_or_absent() {
    let check_spec = |spec: Value, after: Value| {
        check_at("v1", "Service", "/spec/sessionAffinityConfig", &json!({"spec": spec}), after);
    };
    let config = |seconds: i64| json!({"clientIP": {"timeoutSeconds": seconds}});
    check_spec(json!({"sessionAffinityConfig": config(5)}), Value::Null);
    check_spec(json!({"sessionAffinity": "None", "sessionAffinityConfig": config(5)}), Value::Null);
    check_spec(json!({"sessionAffinity": "ClientIP"}), config(10_800));
    check_spec(
        json!({"sessionAffinity": "ClientIP", "sessionAffinityConfig": {"clientIP": {}}}),
        config(10_800),
    );
    check_spec(json!({"sessionAffinity": "ClientIP", "sessionAffinityConfig": config(0)}), config(0));
}

#[test]
fn service_ports_go_to_the_same_port() {
    let ports = [
        (json!({"port": 80}), json!({"port": 80, "targetPort": 80, "protocol": "TCP"})),
        (json!({"port": 80, "targetPort": 0}), json!({"port": 80, "targetPort": 80, "protocol": "TCP"})),
        (json!({"port": 80, "targetPort": ""}), json!({"port": 80, "targetPort": 80, "protocol": "TCP"})),
        (
            json!({"port": 80, "targetPort": "http", "protocol": "UDP"}),
            json!({"port": 80, "targetPort": "http", "protocol": "UDP"}),
        ),
    ];
    for (before, after) in ports {
        check_at("v1", "Service", "/spec/ports/0", &json!({"spec": {"ports": [before]}}), after);
    }
}

#[test]
fn a_balancers_addresses_are_virtual() {
    let ingress = json!([{"ip": "192.0.2.1"}, {"ip": "192.0.2.2", "ipMode": "Proxy"}, {"hostname": "h"}]);
    let mut service =
        json!({"spec": {"type": "LoadBalancer"}, "status": {"loadBalancer": {"ingress": ingress}}});
    let mut after = ingress.clone();
    after[0]["ipMode"] = json!("VIP");
    check_at("v1", "Service", "/status/loadBalancer/ingress", &service, after);
    service["spec"]["type"] = json!("NodePort");
    check_at("v1", "Service", "/status/loadBalancer/ingress", &service, ingress);
}

#[test]
fn a_namespace_is_labelled_with_its_name() {
    let active = json!({"phase": "Active"});
    for labels in [Value::Null, json!({}), json!({"kubernetes.io/metadata.name": "other"})] {
        check(
            "v1",
            "Namespace",
            json!({"metadata": {"name": "n", "labels": labels}}),
            json!({"metadata": {"name": "n", "labels": {"kubernetes.io/metadata.name": "n"}}, "status": active}),
        );
    }
    let unnamed = json!({"generateName": "n-"});
    check("v1", "Namespace", json!({"metadata": unnamed}), json!({"metadata": unnamed, "status": active}));
}

#[test]
fn a_node_can_allocate_its_capacity() {
    let check_status = |before: Value, after: Value| {
        check("v1", "Node", json!({"status": before}), json!({"status": after}));
    };
    check_status(
        json!({"capacity": {"cpu": "1500u"}}),
        json!({"capacity": {"cpu": "2m"}, "allocatable": {"cpu": "2m"}}),
    );
    let less = json!({"capacity": {"cpu": "2"}, "allocatable": {"memory": "1"}});
    check_status(less.clone(), less);
    check("v1", "Node", json!({}), json!({}));
}

#[test]
fn container_limit_ranges_follow_from_each_other() {
    let check_item = |before: Value, after: Value| {
        check(
            "v1",
            "LimitRange",
            json!({"spec": {"limits": [before]}}),
            json!({"spec": {"limits": [after]}}),
        );
    };
    check_item(
        json!({"type": "Container", "max": {"cpu": "4"}, "min": {"cpu": "1", "memory": "1"}}),
        json!({"type": "Container", "max": {"cpu": "4"}, "min": {"cpu": "1", "memory": "1"},
            "default": {"cpu": "4"}, "defaultRequest": {"cpu": "4", "memory": "1"}}),
    );
    check_item(json!({"type": "Pod", "max": {"cpu": "1u"}}), json!({"type": "Pod", "max": {"cpu": "1m"}}));
}

#[test]
fn persistent_volumes_are_kept_and_completed() {
    check(
        "v1",
        "PersistentVolume",
        json!({"spec": {"capacity": {"storage": "1500u"}, "azureDisk": {}, "claimRef": {}}}),
        json!({"status": {"phase": "Pending"}, "spec": {
            "capacity": {"storage": "2m"}, "claimRef": {}, "persistentVolumeReclaimPolicy": "Retain",
            "volumeMode": "Filesystem",
            "azureDisk": {"cachingMode": "ReadWrite", "fsType": "ext4", "kind": "Shared", "readOnly": false},
        }}),
    );
}

#[test]
fn old_workloads_select_the_labels_of_their_template() {
    let bare = json!({"spec": {"template": {"metadata": {"labels": {"a": "b"}}}}});
    let kinds = [
        ("apps/v1beta1", "Deployment"),
        ("apps/v1beta1", "StatefulSet"),
        ("extensions/v1beta1", "DaemonSet"),
        ("extensions/v1beta1", "Deployment"),
        ("extensions/v1beta1", "ReplicaSet"),
    ];
    for (api_version, kind) in kinds {
        check_at(api_version, kind, "/spec/selector", &bare, json!({"matchLabels": {"a": "b"}}));
        check_at(api_version, kind, "/metadata/labels", &bare, json!({"a": "b"}));
    }
    check_at("apps/v1beta2", "Deployment", "/spec/selector", &bare, Value::Null);
    let recreate = json!({"spec": {"strategy": {"type": "Recreate", "rollingUpdate": {}}}});
    let steps = json!({"maxUnavailable": 1, "maxSurge": 1});
    check_at("extensions/v1beta1", "Deployment", "/spec/strategy/rollingUpdate", &recreate, steps);
    check_at("apps/v1beta1", "Deployment", "/spec/strategy/rollingUpdate", &recreate, json!({}));
}

#[test]
fn oversized_label_copy_is_refused() {
    let filled_in = |labels: usize| {
        let labels: Object = (0..labels).map(|n| (format!("{n:06}"), json!("v"))).collect();
        let template = json!({"metadata": {"labels": Value::Object(labels)}});
        let controller = json!({"metadata": {"name": "a"}, "spec": {"template": template}});
        let Value::Object(mut controller) = controller else { unreachable!() };
        complete("v1", "ReplicationController", &mut controller, &Gates::default())?;
        let selector = schema::object::get_object(&controller, &["spec", "selector"]);
        Ok(selector.map_or(0, Object::len))
    };
    assert_eq!([1, 60_000, 70_000].map(filled_in), [Ok(1), Ok(60_000), Err(BudgetExceeded)]);
}
