//! Tests of pods, their updates and templates. They use whole objects, so that the order of errors is checked
//! too.
#![allow(clippy::unwrap_used, reason = "a test may say what must hold")]

mod updates;

use super::*;
use crate::defaults;
use crate::validation::rules::Settings;
use apimachinery::time::UnixTime;
use component_base::features::Gates;
use jsontree::{Value, json};
use schema::object;

fn given() -> ValidationContext {
    ValidationContext {
        settings: Settings { allow_privileged: true, ..Settings::default() },
        now: UnixTime { seconds: 0, nanos: 0 },
    }
}

/// Returns a valid, defaulted pod with these members in its spec.
fn pod(spec: Value) -> Object {
    let mut pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "p", "namespace": "n", "resourceVersion": "1"},
        "spec": {"containers": [{"name": "c", "image": "i"}], "serviceAccountName": "default"},
    });
    for (name, value) in spec.as_object().unwrap() {
        pod["spec"][name] = value.clone();
    }
    let mut pod = pod.as_object().unwrap().clone();
    defaults::apply("v1", "Pod", &mut pod, &Gates::default());
    pod
}

/// Returns the reasons, without their common prefix, and the fields of errors.
fn found(errors: &ErrorList) -> Vec<(&str, &str)> {
    errors.iter().map(|e| (e.reason().trim_start_matches("FieldValue"), e.field())).collect()
}

/// Checks the errors of a new pod with these members in its spec.
fn check(spec: Value, expected: &[(&str, &str)]) {
    assert_eq!(found(&create(&pod(spec.clone()), &given())), expected, "{spec}");
}

#[test]
fn plain_pod_is_valid() {
    check(json!({}), &[]);
}

#[test]
fn names_are_names() {
    check(
        json!({"nodeName": "N", "hostname": "a.b", "subdomain": "-", "serviceAccountName": "S"}),
        &[
            ("Invalid", "spec.serviceAccountName"),
            ("Invalid", "spec.nodeName"),
            ("Invalid", "spec.hostname"),
            ("Invalid", "spec.subdomain"),
        ],
    );
    check(
        json!({"priorityClassName": "P", "runtimeClassName": "", "preemptionPolicy": "x"}),
        &[
            ("Invalid", "spec.priorityClassName"),
            ("Invalid", "spec.runtimeClassName"),
            ("NotSupported", "spec.preemptionPolicy"),
        ],
    );
    check(json!({"hostnameOverride": "a.b", "hostNetwork": true}), &[("Forbidden", "spec.hostnameOverride")]);
    check(json!({"activeDeadlineSeconds": 0}), &[("Invalid", "spec.activeDeadlineSeconds")]);
}

#[test]
fn name_resolution_is_configured() {
    check(json!({"dnsPolicy": "None"}), &[("Required", "spec.dnsConfig")]);
    check(json!({"dnsPolicy": "None", "dnsConfig": {}}), &[("Required", "spec.dnsConfig.nameservers")]);
    check(json!({"dnsPolicy": "x"}), &[("NotSupported", "spec.dnsPolicy")]);
    let config = json!({
        "nameservers": ["1.1.1.1", "x", "1.1.1.1", "::1"],
        "searches": [".", "a_b.", "a b"],
        "options": [{"value": "v"}],
    });
    check(
        json!({"dnsConfig": config}),
        &[
            ("Invalid", "spec.dnsConfig.nameservers"),
            ("Invalid", "spec.dnsConfig.nameservers[1]"),
            ("Invalid", "spec.dnsConfig.searches[2]"),
            ("Required", "spec.dnsConfig.options[0]"),
        ],
    );
    check(
        json!({"hostAliases": [{"ip": "x", "hostnames": ["a", "B"]}]}),
        &[("Invalid", "spec.hostAliases[0].ip"), ("Invalid", "spec.hostAliases[0].hostnames[1]")],
    );
}

#[test]
fn tolerations_match_taints() {
    let check = |toleration: Value, expected: &[(&str, &str)]| {
        check(json!({"tolerations": [toleration]}), expected);
    };
    check(json!({"operator": "Exists"}), &[]);
    check(json!({"key": "a", "value": "b", "effect": "NoExecute", "tolerationSeconds": 1}), &[]);
    check(json!({"value": "b"}), &[("Invalid", "spec.tolerations[0].operator")]);
    check(
        json!({"key": "a", "operator": "Exists", "value": "b"}),
        &[("Invalid", "spec.tolerations[0].operator")],
    );
    check(
        json!({"key": "a", "operator": "Lt", "value": "1"}),
        &[("NotSupported", "spec.tolerations[0].operator")],
    );
    check(
        json!({"key": "a b", "effect": "x", "tolerationSeconds": 1}),
        &[
            ("Invalid", "spec.tolerations[0].key"),
            ("Invalid", "spec.tolerations[0].effect"),
            ("NotSupported", "spec.tolerations[0].effect"),
        ],
    );
}

#[test]
fn affinity_selects() {
    let term = json!({"labelSelector": {"matchLabels": {"a": "-"}}, "namespaces": ["N"], "topologyKey": ""});
    check(
        json!({"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}),
        &[
            (
                "Invalid",
                "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector.matchLabels",
            ),
            (
                "Invalid",
                "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].namespace",
            ),
            (
                "Required",
                "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey",
            ),
            (
                "Invalid",
                "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey",
            ),
            (
                "Invalid",
                "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey",
            ),
        ],
    );
    let nodes = json!({
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []},
        "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 101, "preference": {}}],
    });
    check(
        json!({"affinity": {"nodeAffinity": nodes}}),
        &[
            (
                "Required",
                "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms",
            ),
            (
                "Invalid",
                "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight",
            ),
        ],
    );
}

#[test]
fn pods_are_spread_in_one_way_per_topology() {
    let good = json!({"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"});
    check(json!({"topologySpreadConstraints": [good]}), &[]);
    let bad = json!({"topologyKey": "zone", "whenUnsatisfiable": "x", "minDomains": 0,
        "nodeTaintsPolicy": "x", "matchLabelKeys": ["a"]});
    check(
        json!({"topologySpreadConstraints": [good, good, bad]}),
        &[
            ("Duplicate", "spec.topologySpreadConstraints[0].{topologyKey, whenUnsatisfiable}"),
            ("Invalid", "spec.topologySpreadConstraints[2].maxSkew"),
            ("NotSupported", "spec.topologySpreadConstraints[2].whenUnsatisfiable"),
            ("Invalid", "spec.topologySpreadConstraints[2].minDomains"),
            ("Invalid", "spec.topologySpreadConstraints[2].minDomains"),
            ("NotSupported", "spec.topologySpreadConstraints[2].nodeTaintsPolicy"),
            ("Forbidden", "spec.topologySpreadConstraints[2].matchLabelKeys"),
        ],
    );
}

/// Checks the text of the only error of a new pod.
fn check_text(spec: Value, expected: &str) {
    let texts: Vec<String> = create(&pod(spec), &given()).iter().map(Error::to_string).collect();
    assert_eq!(texts, [expected]);
}

#[test]
fn errors_have_upstream_texts() {
    check_text(
        json!({"topologySpreadConstraints": [{"topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}]}),
        "spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero",
    );
    check_text(
        json!({"topologySpreadConstraints": [{"maxSkew": 1, "minDomains": 1, "topologyKey": "zone",
            "whenUnsatisfiable": "ScheduleAnyway"}]}),
        "spec.topologySpreadConstraints[0].minDomains: Invalid value: 1: can only use minDomains if \
         whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway",
    );
    check_text(
        json!({"resourceClaims": [{"name": "a"}]}),
        "spec.resourceClaims[0]: Invalid value: {\"Name\":\"a\",\"ResourceClaimName\":null,\
         \"ResourceClaimTemplateName\":null}: must specify one of: `resourceClaimName`, \
         `resourceClaimTemplateName`",
    );
    check_text(
        json!({"securityContext": {"sysctls": [{"name": "A"}]}}),
        "spec.securityContext.sysctls[0].name: Invalid value: \"A\": must have at most 253 characters and \
         match regex ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$",
    );
    check_text(
        json!({"tolerations": [{"operator": "Equal"}]}),
        "spec.tolerations[0].operator: Invalid value: \"Equal\": operator must be Exists when `key` is empty, \
         which means \"match all values and all keys\"",
    );
}

#[test]
fn security_contexts_have_valid_kernel_values() {
    let context = json!({
        "runAsUser": -1, "fsGroup": -1, "supplementalGroups": [1, -1],
        "fsGroupChangePolicy": "x", "seLinuxChangePolicy": "MountOption", "supplementalGroupsPolicy": "x",
        "sysctls": [{"name": "kernel.sem"}, {"name": "kernel.sem"}, {"name": "A"}, {"name": ""}, {"name": "net/a/b"}],
    });
    check(
        json!({"securityContext": context, "hostNetwork": true}),
        &[
            ("Invalid", "spec.securityContext.fsGroup"),
            ("Invalid", "spec.securityContext.runAsUser"),
            ("Invalid", "spec.securityContext.supplementalGroups[1]"),
            ("Duplicate", "spec.securityContext.sysctls[1].name"),
            ("Invalid", "spec.securityContext.sysctls[2].name"),
            ("Required", "spec.securityContext.sysctls[3].name"),
            ("Invalid", "spec.securityContext.sysctls[4].name"),
            ("NotSupported", "spec.securityContext.fsGroupChangePolicy"),
            ("NotSupported", "spec.securityContext.supplementalGroupsPolicy"),
        ],
    );
    check(
        json!({"hostPID": true, "shareProcessNamespace": true, "hostUsers": false}),
        &[("Invalid", "spec.shareProcessNamespace"), ("Forbidden", "spec.HostPID")],
    );
}

#[test]
fn pods_have_fields_of_their_os_only() {
    check(json!({"os": {"name": ""}}), &[("Required", "spec.os.name")]);
    check(json!({"os": {"name": "mac"}}), &[("NotSupported", "spec.os")]);
    check(
        json!({"os": {"name": "windows"}, "hostPID": true, "securityContext": {"runAsUser": 1}}),
        &[("Forbidden", "spec.securityContext.runAsUser"), ("Forbidden", "spec.hostPID")],
    );
    let context = json!({"windowsOptions": {"hostProcess": true}});
    check(
        json!({"os": {"name": "linux"}, "securityContext": context}),
        &[("Invalid", "spec.hostNetwork"), ("Forbidden", "spec.securityContext.windowsOptions")],
    );
}

#[test]
fn volumes_have_one_source_each() {
    check(
        json!({"volumes": [{"name": "a", "hostPath": {"path": "/"}}, {"name": "a", "nfs": {"server": "s", "path": "/"}}]}),
        &[("Duplicate", "spec.volumes[1].name")],
    );
    check(
        json!({"volumes": [{"name": "A", "emptyDir": {}, "cephfs": {"monitors": ["m"]}, "downwardAPI": {}}]}),
        &[
            ("Forbidden", "spec.volumes[0].cephFS"),
            ("Forbidden", "spec.volumes[0].downwarAPI"),
            ("Invalid", "spec.volumes[0].name"),
        ],
    );
    let items = json!([{"path": "/a", "mode": 512}]);
    check(
        json!({"volumes": [{"name": "a", "secret": {"items": items, "defaultMode": -1}}]}),
        &[
            ("Required", "spec.volumes[0].secret.secretName"),
            ("Invalid", "spec.volumes[0].secret.defaultMode"),
            ("Required", "spec.volumes[0].secret.items[0].key"),
            ("Invalid", "spec.volumes[0].secret.items[0].path"),
            ("Invalid", "spec.volumes[0].secret.items[0].mode"),
        ],
    );
    let claim = json!({"persistentVolumeClaim": {"claimName": "p-e"}, "name": "c"});
    let ephemeral = json!({"name": "e", "ephemeral": {"volumeClaimTemplate": {"metadata": {"name": "x"}, "spec": {
        "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}}});
    check(
        json!({"volumes": [claim, ephemeral]}),
        &[
            ("Invalid", "spec.volumes[0].persistentVolumeClaim.claimName"),
            ("Forbidden", "spec.volumes[1].ephemeral.volumeClaimTemplate.metadata.name"),
        ],
    );
}

#[test]
fn projected_files_do_not_collide() {
    let keys = |path: &str| json!({"secret": {"name": "s", "items": [{"key": "k", "path": path}]}});
    let token = json!({"serviceAccountToken": {"path": "../t", "expirationSeconds": 599}});
    let sources = json!([keys("a"), keys("a"), token]);
    let volumes = json!([{"name": "v", "projected": {"sources": sources}}]);
    let errors = [
        ("Invalid", "spec.volumes[0].projected"),
        ("Invalid", "spec.volumes[0].projected.sources[2].serviceAccountToken.expirationSeconds"),
        ("Invalid", "spec.volumes[0].projected.path"),
    ];
    check(json!({"volumes": volumes}), &errors);
    let without = ("Forbidden", "spec.volumes[0].projected.sources[2].serviceAccountToken");
    check(json!({"volumes": volumes, "serviceAccountName": ""}), &[errors.as_slice(), &[without]].concat());
}

#[test]
fn gates_and_claims_are_named_once() {
    check(
        json!({"schedulingGates": [{"name": "a/b"}, {"name": "a/b"}, {"name": ""}], "nodeName": "n"}),
        &[
            ("Duplicate", "spec.schedulingGates[1]"),
            ("Invalid", "spec.schedulingGates[2]"),
            ("Invalid", "spec.schedulingGates[2]"),
            ("Forbidden", "spec.nodeName"),
        ],
    );
    let claims = json!([{"name": "a", "resourceClaimName": "x"}, {"name": "a"}, {"name": "b",
        "resourceClaimName": "X", "resourceClaimTemplateName": "y"}]);
    check(
        json!({"resourceClaims": claims}),
        &[
            ("Duplicate", "spec.resourceClaims[1].name"),
            ("Invalid", "spec.resourceClaims[1]"),
            ("Invalid", "spec.resourceClaims[2]"),
            ("Invalid", "spec.resourceClaims[2].resourceClaimName"),
        ],
    );
    check(
        json!({"readinessGates": [{"conditionType": "a b"}]}),
        &[("Invalid", "spec.readinessGates[0].conditionType")],
    );
}

#[test]
fn the_pod_has_enough_for_its_containers() {
    let container = |name: &str, cpu: &str| {
        json!({"name": name, "image": "i",
        "resources": {"requests": {"cpu": cpu}, "limits": {"cpu": cpu}}})
    };
    let containers = json!([container("a", "1"), container("b", "3")]);
    let resources = |cpu: &str| json!({"requests": {"cpu": cpu}, "limits": {"cpu": cpu}});
    check(json!({"containers": containers, "resources": resources("4")}), &[]);
    check(
        json!({"containers": containers, "resources": resources("2")}),
        &[
            ("Invalid", "spec.resources.requests[cpu]"),
            ("Invalid", "spec.resources.containers[1][cpu].limits"),
        ],
    );
    let init = json!([container("i", "5")]);
    check(
        json!({"containers": containers, "initContainers": init, "resources": resources("4")}),
        &[("Invalid", "spec.resources.requests[cpu]")],
    );
    check(json!({"overhead": {"cpu": "-1"}}), &[("Invalid", "spec.overhead.limits[cpu]")]);
}

#[test]
fn annotations_agree_with_fields() {
    let mut pod = pod(json!({"securityContext": {"seccompProfile": {"type": "Unconfined"}}}));
    object::set(
        &mut pod,
        &["metadata", "annotations"],
        json!({
            "kubernetes.io/config.mirror": "x",
            "controller.kubernetes.io/pod-deletion-cost": "+1",
            "container.apparmor.security.beta.kubernetes.io/d": "x",
            "seccomp.security.alpha.kubernetes.io/pod": "runtime/default",
        }),
    );
    assert_eq!(
        found(&create(&pod, &given())),
        [
            ("Invalid", "metadata.annotations[kubernetes.io/config.mirror]"),
            ("Invalid", "metadata.annotations[controller.kubernetes.io/pod-deletion-cost]"),
            ("Invalid", "metadata.annotations[container.apparmor.security.beta.kubernetes.io/d]"),
            ("Invalid", "metadata.annotations[container.apparmor.security.beta.kubernetes.io/d]"),
            ("Forbidden", "spec.securityContext.seccompProfile.type"),
        ]
    );
}

#[test]
fn templates_are_validated_like_pods() {
    let pod = pod(json!({"hostNetwork": true, "containers": [{"name": "c", "image": " i",
        "ports": [{"containerPort": 1, "hostPort": 2}]}], "ephemeralContainers": [{"name": "e", "image": "i"}]}));
    let errors = validate_pod_template_spec(&pod, &Path::root("template"), &PodOptions::default());
    assert_eq!(
        found(&errors),
        [
            ("Invalid", "template.spec.containers[0].ports[0].hostPort"),
            ("Forbidden", "template.spec.ephemeralContainers"),
        ]
    );
}
