//! Tests of policies, definitions and devices.

use super::*;

#[test]
fn given_autoscaler_behavior_is_completed() {
    let up = json!({"stabilizationWindowSeconds": 0, "selectPolicy": "Max", "policies": [
        {"type": "Pods", "value": 4, "periodSeconds": 15}, {"type": "Percent", "value": 100, "periodSeconds": 15},
    ]});
    let down =
        json!({"selectPolicy": "Max", "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}]});
    let mut slow = down.clone();
    slow["stabilizationWindowSeconds"] = json!(5);
    slow["selectPolicy"] = json!("Min");
    let cases = [
        (Value::Null, Value::Null),
        (json!({}), json!({"scaleUp": up, "scaleDown": down})),
        (
            json!({"scaleDown": {"stabilizationWindowSeconds": 5, "selectPolicy": "Min"}}),
            json!({"scaleUp": up, "scaleDown": slow}),
        ),
    ];
    for (before, after) in cases {
        let autoscaler = json!({"spec": {"behavior": before}});
        check_at("autoscaling/v2", "HorizontalPodAutoscaler", "/spec/behavior", &autoscaler, after);
    }
}

#[test]
fn autoscaler_without_metrics_uses_cpu() {
    let cpu = json!({"type": "Resource", "resource": {"name": "cpu",
        "target": {"type": "Utilization", "averageUtilization": 80}}});
    check(
        "autoscaling/v2",
        "HorizontalPodAutoscaler",
        json!({"spec": {"metrics": []}}),
        json!({"spec": {"metrics": [cpu], "minReplicas": 1}}),
    );
    check("autoscaling/v1", "HorizontalPodAutoscaler", json!({}), json!({"spec": {"minReplicas": 1}}));
}

#[test]
fn egress_rules_set_egress_policy_type() {
    let tcp = json!([{"ports": [{"port": 1, "protocol": "TCP"}]}]);
    let rules = json!([{"ports": [{"port": 1}]}]);
    let kind = ("networking.k8s.io/v1", "NetworkPolicy");
    let check_spec =
        |before: Value, after: Value| check(kind.0, kind.1, json!({"spec": before}), json!({"spec": after}));
    check_spec(json!({"ingress": rules}), json!({"ingress": tcp, "policyTypes": ["Ingress"]}));
    check_spec(json!({"egress": rules}), json!({"egress": tcp, "policyTypes": ["Ingress", "Egress"]}));
    check_spec(json!({"policyTypes": ["Egress"]}), json!({"policyTypes": ["Egress"]}));
}

#[test]
fn users_and_groups_get_the_rbac_group() {
    let group = "rbac.authorization.k8s.io";
    for kind in ["RoleBinding", "ClusterRoleBinding"] {
        check(
            "rbac.authorization.k8s.io/v1",
            kind,
            json!({"subjects": [{"kind": "User"}, {"kind": "Group"}, {"kind": "ServiceAccount"}, {"kind": "User", "apiGroup": "x"}]}),
            json!({"roleRef": {"apiGroup": group}, "subjects": [
                {"kind": "User", "apiGroup": group}, {"kind": "Group", "apiGroup": group},
                {"kind": "ServiceAccount"}, {"kind": "User", "apiGroup": "x"},
            ]}),
        );
    }
}

#[test]
fn webhooks_select_everything() {
    let service = json!({"clientConfig": {"service": {"name": "s"}}, "rules": [{"operations": ["*"]}]});
    let common = |extra: Value| {
        let mut webhook = json!({
            "clientConfig": {"service": {"name": "s", "port": 443}}, "rules": [{"operations": ["*"], "scope": "*"}],
            "namespaceSelector": {}, "objectSelector": {},
        });
        webhook.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        json!({"webhooks": [webhook]})
    };
    let before = json!({"webhooks": [service]});
    check(
        "admissionregistration.k8s.io/v1",
        "ValidatingWebhookConfiguration",
        before.clone(),
        common(json!({"failurePolicy": "Fail", "matchPolicy": "Equivalent", "timeoutSeconds": 10})),
    );
    check(
        "admissionregistration.k8s.io/v1beta1",
        "MutatingWebhookConfiguration",
        before,
        common(
            json!({"failurePolicy": "Ignore", "matchPolicy": "Exact", "timeoutSeconds": 30, "sideEffects": "Unknown",
            "reinvocationPolicy": "Never", "admissionReviewVersions": ["v1beta1"]}),
        ),
    );
}

#[test]
fn policies_match_everything_of_an_equivalent_kind() {
    check(
        "admissionregistration.k8s.io/v1",
        "ValidatingAdmissionPolicy",
        json!({"spec": {"matchConstraints": {}}}),
        json!({"spec": {"failurePolicy": "Fail", "matchConstraints": {
            "matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {},
        }}}),
    );
    let binding = json!({"spec": {"paramRef": {}}});
    for (version, after) in [("v1", Value::Null), ("v1beta1", Value::Null), ("v1alpha1", json!("Deny"))] {
        let api_version = format!("admissionregistration.k8s.io/{version}");
        let pointer = "/spec/paramRef/parameterNotFoundAction";
        check_at(&api_version, "MutatingAdmissionPolicyBinding", pointer, &binding, after);
    }
}

#[test]
fn names_of_a_definition_follow_from_its_kind() {
    let check_names = |before: Value, after: Value| {
        let definition = json!({"spec": {"names": before}});
        check_at("apiextensions.k8s.io/v1", "CustomResourceDefinition", "/spec/names", &definition, after);
    };
    check_names(
        json!({"kind": "CronTab"}),
        json!({"kind": "CronTab", "singular": "crontab", "listKind": "CronTabList"}),
    );
    check_names(
        json!({"kind": "K", "singular": "s", "listKind": "L"}),
        json!({"kind": "K", "singular": "s", "listKind": "L"}),
    );
}

#[test]
fn first_storage_version_becomes_stored_version() {
    let versions = json!([{"name": "v1"}, {"name": "v2", "storage": true}, {"name": "v3", "storage": true}]);
    for version in ["v1", "v1beta1"] {
        let api_version = format!("apiextensions.k8s.io/{version}");
        let check_stored = |before: &Value, after: Value| {
            check_at(&api_version, "CustomResourceDefinition", "/status/storedVersions", before, after);
        };
        check_stored(&json!({"spec": {"versions": versions}}), json!(["v2"]));
        check_stored(
            &json!({"spec": {"versions": versions}, "status": {"storedVersions": ["x"]}}),
            json!(["x"]),
        );
        check_stored(&json!({"spec": {"versions": [{"name": "v1"}]}}), Value::Null);
    }
}

#[test]
fn v1beta1_version_and_versions_are_synchronized() {
    let kind = ("apiextensions.k8s.io/v1beta1", "CustomResourceDefinition");
    let versions = json!([{"name": "v1", "storage": true, "served": true}]);
    check_at(kind.0, kind.1, "/spec/versions", &json!({"spec": {"version": "v1"}}), versions.clone());
    check_at(kind.0, kind.1, "/status/storedVersions", &json!({"spec": {"version": "v1"}}), json!(["v1"]));
    check_at(kind.0, kind.1, "/spec/version", &json!({"spec": {"versions": versions}}), json!("v1"));
    let synchronized = json!({"spec": {"version": "v0", "versions": versions}});
    check_at(kind.0, kind.1, "/spec/version", &synchronized, json!("v0"));
    let webhook = json!({"spec": {"conversion": {"strategy": "Webhook"}}});
    check_at(kind.0, kind.1, "/spec/conversion/conversionReviewVersions", &webhook, json!(["v1beta1"]));
}

#[test]
fn distinguishable_zero_shares_are_kept() {
    let check_shares = |version: &str, level: Value, after: i64| {
        let api_version = format!("flowcontrol.apiserver.k8s.io/{version}");
        let pointer = "/spec/limited/nominalConcurrencyShares";
        check_at(&api_version, "PriorityLevelConfiguration", pointer, &level, json!(after));
    };
    let none = json!({"spec": {"limited": {}}});
    let zero = json!({"spec": {"limited": {"nominalConcurrencyShares": 0}}});
    let mut meant = zero.clone();
    meant["metadata"] =
        json!({"annotations": {"flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares": ""}});
    check_shares("v1", none.clone(), 30);
    check_shares("v1", zero.clone(), 0);
    check_shares("v1beta3", none, 30);
    check_shares("v1beta3", zero, 30);
    check_shares("v1beta3", meant, 0);
}

#[test]
fn one_device_is_requested_unless_all_are() {
    let exact = json!({"allocationMode": "ExactCount", "count": 1});
    for (before, after) in [
        (json!({}), exact.clone()),
        (json!({"count": 2}), json!({"allocationMode": "ExactCount", "count": 2})),
        (json!({"allocationMode": "All"}), json!({"allocationMode": "All"})),
    ] {
        for version in ["v1", "v1beta2"] {
            let claim =
                json!({"spec": {"devices": {"requests": [{"exactly": before, "firstAvailable": [before]}]}}});
            let api_version = format!("resource.k8s.io/{version}");
            check_at(
                &api_version,
                "ResourceClaim",
                "/spec/devices/requests/0/exactly",
                &claim,
                after.clone(),
            );
            let first = "/spec/devices/requests/0/firstAvailable/0";
            check_at(&api_version, "ResourceClaim", first, &claim, after.clone());
            let template = json!({"spec": claim});
            check_at(
                &api_version,
                "ResourceClaimTemplate",
                &format!("/spec{first}"),
                &template,
                after.clone(),
            );
        }
    }
    let claim = |request: Value| json!({"spec": {"devices": {"requests": [request]}}});
    let request = json!({"deviceClassName": "c", "allocationMode": "ExactCount", "count": 1});
    let pointer = "/spec/devices/requests/0";
    check_at(
        "resource.k8s.io/v1beta1",
        "ResourceClaim",
        pointer,
        &claim(json!({"deviceClassName": "c"})),
        request,
    );
    let several = json!({"firstAvailable": [exact]});
    check_at("resource.k8s.io/v1beta1", "ResourceClaim", pointer, &claim(several.clone()), several);
}

#[test]
fn a_taint_without_a_time_was_added_now() {
    let now = json!("2026-01-02T03:04:05Z");
    let taints = json!([{"key": "a"}, {"key": "b", "timeAdded": "2025-01-01T00:00:00Z"}, {"key": "c", "timeAdded": null}]);
    let mut stamped = taints.clone();
    stamped[0]["timeAdded"] = now.clone();
    for (version, device) in
        [("v1", json!({"taints": taints})), ("v1beta1", json!({"basic": {"taints": taints}}))]
    {
        let pointer = if version == "v1" { "/spec/devices/0/taints" } else { "/spec/devices/0/basic/taints" };
        let api_version = format!("resource.k8s.io/{version}");
        let slice = json!({"spec": {"devices": [device]}});
        check_at(&api_version, "ResourceSlice", pointer, &slice, stamped.clone());
    }
    for version in ["v1", "v1alpha3"] {
        let api_version = format!("resource.k8s.io/{version}");
        check(&api_version, "DeviceTaintRule", json!({}), json!({"spec": {"taint": {"timeAdded": now}}}));
    }
}

#[test]
fn unknown_kinds_and_versions_are_left_alone() {
    for (api_version, kind) in
        [("v1", "pod"), ("v2", "Pod"), ("apps/v1", "Pod"), ("", ""), ("x.io/v1", "Pod"), ("/v1", "Foo")]
    {
        check(api_version, kind, json!({"spec": {}}), json!({"spec": {}}));
    }
}

#[test]
fn subjects_have_a_version_in_rbac_v1alpha1() {
    let check = |kind: &str, version: Value| {
        let binding = json!({"subjects": [{"kind": kind}]});
        let key = "rbac.authorization.k8s.io/v1alpha1";
        check_at(key, "RoleBinding", "/subjects/0/apiVersion", &binding, version);
    };
    check("User", json!("rbac.authorization.k8s.io/v1alpha1"));
    check("Group", json!("rbac.authorization.k8s.io/v1alpha1"));
    check("ServiceAccount", json!("v1"));
    check("Robot", Value::Null);
}
