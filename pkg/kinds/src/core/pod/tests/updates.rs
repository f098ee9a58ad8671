//! Tests of pod updates.

use super::*;
use component_base::features::Gate;

/// Checks the errors of a change of a pod's spec.
fn check(old: Value, new: Value, expected: &[(&str, &str)]) {
    assert_eq!(found(&update("", &pod(new.clone()), &pod(old.clone()), &given())), expected, "{old} {new}");
}

#[test]
fn images_and_deadlines_change() {
    let image =
        |image: &str| json!({"containers": [{"name": "c", "image": image, "imagePullPolicy": "Never"}]});
    check(image("a"), image("b"), &[]);
    check(
        image("a"),
        image(""),
        &[("Required", "spec.containers[0].image"), ("Required", "spec.containers[0].image")],
    );
    check(json!({}), json!({"activeDeadlineSeconds": 5}), &[]);
    check(json!({"activeDeadlineSeconds": 5}), json!({"activeDeadlineSeconds": 4}), &[]);
    check(
        json!({"activeDeadlineSeconds": 5}),
        json!({"activeDeadlineSeconds": 6}),
        &[("Invalid", "spec.activeDeadlineSeconds")],
    );
    check(json!({"activeDeadlineSeconds": 5}), json!({}), &[("Invalid", "spec.activeDeadlineSeconds")]);
    check(json!({"terminationGracePeriodSeconds": -1}), json!({"terminationGracePeriodSeconds": 1}), &[]);
    let two = json!({"containers": [{"name": "c", "image": "i"}, {"name": "d", "image": "i"}]});
    check(json!({}), two, &[("Forbidden", "spec.containers")]);
}

#[test]
fn old_service_account_name_is_ignored() {
    let mut new = pod(json!({"serviceAccount": "default"}));
    object::remove(&mut new, &["spec", "securityContext"]);
    assert_eq!(update("", &new, &pod(json!({})), &given()), ErrorList::new());
}

#[test]
fn other_changes_are_refused_with_a_diff() {
    let errors = update("", &pod(json!({"nodeName": "b"})), &pod(json!({"nodeName": "a"})), &given());
    assert_eq!(found(&errors), [("Forbidden", "spec")]);
    let detail = errors.iter().next().unwrap().detail();
    assert!(detail.starts_with("pod updates may not change fields other than `spec.containers[*].image`,"));
    let diff = "\n \"AutomountServiceAccountToken\": null,\n- \"NodeName\": \"a\",\n+ \"NodeName\": \"b\",\n  \"HostNetwork\": false,";
    assert!(detail.contains(&diff.replace("\n \"Auto", "\n  \"Auto")), "{detail}");
}

#[test]
fn empty_container_list_is_no_change() {
    let new = pod(json!({"nodeName": "b", "initContainers": []}));
    let errors = update("", &new, &pod(json!({"nodeName": "a"})), &given());
    assert!(!errors.iter().next().unwrap().detail().contains("+ \"InitContainers\""), "{errors:?}");
}

#[test]
fn tolerations_are_only_added() {
    let one = |seconds: i64| json!({"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds});
    let other = json!({"key": "b", "operator": "Exists"});
    check(json!({"tolerations": [one(1)]}), json!({"tolerations": [other, one(2)]}), &[]);
    check(
        json!({"tolerations": [one(1)]}),
        json!({"tolerations": [other]}),
        &[("Forbidden", "spec.tolerations")],
    );
}

#[test]
fn gated_pods_may_narrow_scheduling() {
    let required = |terms: Value| {
        json!({"nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}})
    };
    let a = json!({"key": "a", "operator": "Exists"});
    let b = json!({"key": "b", "operator": "Exists"});
    let gates = json!([{"name": "a/b"}]);
    let old = json!({"schedulingGates": gates, "nodeSelector": {"a": "b"},
        "affinity": required(json!([{"matchExpressions": [a]}]))});
    let narrowed = json!({"nodeSelector": {"a": "b", "c": "d"},
        "affinity": required(json!([{"matchExpressions": [a, b]}]))});
    check(old.clone(), narrowed, &[]);
    let changed = json!({"schedulingGates": [{"name": "c/d"}], "nodeSelector": {"a": "c"},
        "affinity": required(json!([{"matchExpressions": [b]}]))});
    check(
        old,
        changed,
        &[
            ("Forbidden", "spec.schedulingGates[0].name"),
            ("Invalid", "spec.nodeSelector"),
            (
                "Invalid",
                "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]",
            ),
        ],
    );
    check(
        json!({"schedulingGates": gates}),
        json!({"affinity": required(json!([{"matchExpressions": [a]}]))}),
        &[],
    );
}

#[test]
fn existing_errors_are_allowed() {
    let bad = json!({"tolerations": [{"key": "a", "operator": "Lt", "value": "1"}],
        "securityContext": {"seLinuxChangePolicy": "MountOption", "sysctls": [{"name": "net.a"}]}, "hostNetwork": true});
    check(bad.clone(), bad.clone(), &[]);
    let spread = json!({"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "z",
        "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {"matchLabels": {"a": "-"}}}]});
    check(spread.clone(), spread, &[]);
}

/// Checks the errors of a change of a pod's status.
fn check_status(spec: Value, old: Value, new: Value, expected: &[(&str, &str)]) {
    let with = |status: &Value| {
        let mut pod = pod(spec.clone());
        object::set(&mut pod, &["status"], status.clone());
        pod
    };
    assert_eq!(found(&update("status", &with(&new), &with(&old), &given())), expected, "{old} {new}");
}

#[test]
fn terminated_containers_stay_unless_they_restart() {
    let ended = |code: i64| json!({"containerStatuses": [{"name": "c", "state": {"terminated": {"exitCode": code}}}]});
    let running = json!({"containerStatuses": [{"name": "c", "state": {"running": {}}}]});
    let forbidden = [("Forbidden", "status.containerStatuses[0].state")];
    check_status(json!({}), ended(0), running.clone(), &[]);
    check_status(json!({"restartPolicy": "Never"}), ended(1), running.clone(), &forbidden);
    check_status(json!({"restartPolicy": "OnFailure"}), ended(1), running.clone(), &[]);
    check_status(json!({"restartPolicy": "OnFailure"}), ended(0), running.clone(), &forbidden);
    let rules = json!([{"action": "Restart", "exitCodes": {"operator": "In", "values": [1]}}]);
    let container = json!({"name": "c", "image": "i", "restartPolicy": "Never", "restartPolicyRules": rules});
    check_status(json!({"containers": [container]}), ended(1), running, &[]);
}

#[test]
fn gates_decide_on_restarts_and_nominations() {
    let found_without = |gate: Gate, spec: Value, old: Value, new: Value| {
        let with = |status: Value| {
            let mut pod = pod(spec.clone());
            object::set(&mut pod, &["status"], status);
            pod
        };
        let mut context = given();
        context.settings.gates = context.settings.gates.with(gate, false);
        let errors = update("status", &with(new), &with(old), &context);
        errors.iter().map(|error| error.field().to_owned()).collect::<Vec<_>>()
    };
    let ended = json!({"containerStatuses": [{"name": "c", "state": {"terminated": {"exitCode": 1}}}]});
    let running = json!({"containerStatuses": [{"name": "c", "state": {"running": {}}}]});
    let container = json!({"name": "other", "image": "i"});
    let spec = json!({"restartPolicy": "OnFailure", "containers": [container]});
    assert_eq!(found_without(Gate::PodDeletionCost, spec.clone(), ended.clone(), running.clone()).len(), 1);
    let none: [&str; 0] = [];
    assert_eq!(found_without(Gate::ContainerRestartRules, spec, ended, running), none);
    let spec = json!({"nodeName": "n"});
    let nominated = json!({"nominatedNodeName": "m"});
    let gate = Gate::ClearingNominatedNodeNameAfterBinding;
    assert_eq!(found_without(gate, spec, json!({}), nominated), none);
}

#[test]
fn single_address_is_the_first() {
    let list = json!([{"ip": "10.0.0.1"}]);
    let status = |single: &str| json!({"podIP": single, "podIPs": list});
    check_status(json!({}), json!({}), status("10.0.0.1"), &[]);
    check_status(json!({}), json!({}), status(""), &[("Invalid", "status.podIPs")]);
    check_status(json!({}), json!({}), status("10.0.0.2"), &[("Invalid", "status.podIPs[0].ip")]);
}

#[test]
fn addresses_are_one_of_each_family() {
    let ips = |ips: &[&str]| json!({"podIP": ips[0], "podIPs": ips.iter().map(|ip| json!({"ip": ip})).collect::<Vec<_>>()});
    check_status(json!({}), json!({}), ips(&["10.0.0.1", "::1"]), &[]);
    check_status(json!({}), json!({}), ips(&["10.0.0.1", "10.0.0.2"]), &[("Invalid", "status.podIPs")]);
    check_status(json!({}), ips(&["x"]), ips(&["x"]), &[]);
    check_status(
        json!({}),
        json!({}),
        ips(&["x", "::1"]),
        &[("Invalid", "status.podIPs[0]"), ("InternalError", "status.podIPs"), ("Invalid", "status.podIPs")],
    );
    check_status(
        json!({}),
        json!({}),
        json!({"hostIP": "::2", "hostIPs": [{"ip": "::1"}]}),
        &[("Invalid", "status.hostIPs[0].ip")],
    );
}

#[test]
fn the_rest_of_the_status_is_checked() {
    let new = json!({"qosClass": "Burstable", "nominatedNodeName": "N", "conditions": [{"type": "a b", "observedGeneration": -1}],
        "resourceClaimStatuses": [{"name": "x", "resourceClaimName": "X"}]});
    check_status(
        json!({"nodeName": "n"}),
        json!({}),
        new,
        &[
            ("Invalid", "status.conditions[0].observedGeneration"),
            ("Invalid", "status.conditions[0].Type"),
            ("Invalid", "status.nominatedNodeName"),
            ("Forbidden", "status.nominatedNodeName"),
            ("Invalid", "status.qosClass"),
            ("Invalid", "status.resourceClaimStatuses[0].name"),
            ("Invalid", "status.resourceClaimStatuses[0].resourceClaimName"),
        ],
    );
}
