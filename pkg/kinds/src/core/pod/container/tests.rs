//! Tests of all kinds of containers.

use super::super::options::PodOptions;
use super::*;
use apimachinery::field::ErrorType::{self, *};
use jsontree::{Value, json};
use std::collections::BTreeMap;

/// Validates a pod spec with the volumes `files` and `claim` (a claim) and the resource claim `dev`.
fn errors_of(spec: Value) -> ErrorList {
    let options = PodOptions {
        allow_privileged: true,
        restart_rules: true,
        restart_of_all_containers: true,
        ..PodOptions::default()
    };
    errors_with(spec, &options)
}

fn errors_with(spec: Value, options: &PodOptions) -> ErrorList {
    let Value::Object(spec) = spec else { unreachable!("tests give objects") };
    let Value::Object(volumes) = json!({"files": {"emptyDir": {}}, "claim": {"persistentVolumeClaim": {}}})
    else {
        unreachable!("a literal object")
    };
    let volumes: BTreeMap<&str, &Object> =
        volumes.iter().filter_map(|(name, volume)| Some((name.as_str(), volume.as_object()?))).collect();
    let pod = PodContext {
        os: child(&spec, "os").map(|os| text(os, "name")),
        volumes: &volumes,
        claims: &BTreeSet::from(["dev"]),
        grace_period: Some(30),
        restart_policy: text(&spec, "restartPolicy"),
        host_users: true,
        options,
    };
    let mut errors = ErrorList::new();
    validate_containers(&spec, &pod, &Path::root("c"), &mut errors);
    validate_init_containers(&spec, &pod, &Path::root("i"), &mut errors);
    validate_ephemeral_containers(&spec, &pod, &Path::root("e"), &mut errors);
    errors
}

fn check_spec(spec: Value, expected: &[(ErrorType, &str)]) {
    let errors = errors_of(spec.clone());
    let actual: Vec<(ErrorType, &str)> = errors.iter().map(|error| (error.kind(), error.field())).collect();
    assert_eq!(actual, expected, "{spec}");
}

/// Returns a valid container with additional members.
fn container(name: &str, more: Value) -> Value {
    let mut container = json!({
        "name": name,
        "image": "i",
        "terminationMessagePolicy": "File",
        "imagePullPolicy": "Always",
    });
    if let (Some(container), Value::Object(more)) = (container.as_object_mut(), more) {
        container.extend(more);
    }
    container
}

fn check(more: Value, expected: &[(ErrorType, &str)]) {
    check_spec(json!({"containers": [container("a", more)]}), expected);
}

fn check_init(more: Value, expected: &[(ErrorType, &str)]) {
    let spec = json!({"containers": [container("a", json!({}))], "initContainers": [container("b", more)]});
    check_spec(spec, expected);
}

fn check_ephemeral(more: Value, expected: &[(ErrorType, &str)]) {
    let spec =
        json!({"containers": [container("a", json!({}))], "ephemeralContainers": [container("b", more)]});
    check_spec(spec, expected);
}

#[test]
fn containers_need_name_image_and_policies() {
    check_spec(json!({}), &[(Required, "c")]);
    check(json!({}), &[]);
    let missing = ["name", "image", "terminationMessagePolicy", "imagePullPolicy"];
    let expected = missing.map(|member| format!("c[0].{member}"));
    let expected: Vec<(ErrorType, &str)> = expected.iter().map(|path| (Required, path.as_str())).collect();
    check_spec(json!({"containers": [{}]}), &expected);
    check(
        json!({"name": "A", "terminationMessagePolicy": "x", "imagePullPolicy": "always"}),
        &[
            (Invalid, "c[0].name"),
            (NotSupported, "c[0].terminationMessagePolicy"),
            (NotSupported, "c[0].imagePullPolicy"),
        ],
    );
}

#[test]
fn names_are_unique_across_all_containers() {
    let spec = json!({
        "containers": [container("a", json!({})), container("a", json!({}))],
        "initContainers": [container("a", json!({})), container("b", json!({}))],
        "ephemeralContainers": [container("b", json!({})), container("c", json!({}))],
    });
    let paths = [(Duplicate, "c[1].name"), (Duplicate, "i[0].name"), (Duplicate, "e[0].name")];
    check_spec(spec, &paths);
}

#[test]
fn ports_have_numbers_names_and_protocols() {
    check(json!({"ports": [{"containerPort": 80, "protocol": "TCP", "name": "http", "hostPort": 80}]}), &[]);
    check(
        json!({"ports": [{"name": "HTTP", "containerPort": 70000, "hostPort": -1, "protocol": "tcp"}]}),
        &[
            (Invalid, "c[0].ports[0].name"),
            (Invalid, "c[0].ports[0].name"),
            (Invalid, "c[0].ports[0].containerPort"),
            (Invalid, "c[0].ports[0].hostPort"),
            (NotSupported, "c[0].ports[0].protocol"),
        ],
    );
    let port = json!({"name": "p", "containerPort": 80, "protocol": "TCP"});
    check(json!({"ports": [port, port]}), &[(Duplicate, "c[0].ports[1].name")]);
    check(
        json!({"ports": [{}]}),
        &[(Required, "c[0].ports[0].containerPort"), (Required, "c[0].ports[0].protocol")],
    );
}

#[test]
fn host_ports_are_unique_but_for_init_containers() {
    let port =
        |ip: &str| json!({"ports": [{"containerPort": 80, "hostPort": 80, "protocol": "TCP", "hostIP": ip}]});
    let pair = |a: &str, b: &str| json!([container("a", port(a)), container("b", port(b))]);
    check_spec(json!({"containers": pair("", "1.1.1.1")}), &[]);
    check_spec(json!({"containers": pair("", "")}), &[(Duplicate, "c[1].ports[0].hostPort")]);
    let plain = json!([container("c", json!({}))]);
    check_spec(json!({"containers": plain, "initContainers": pair("", "")}), &[]);
}

#[test]
fn variables_have_one_source() {
    let variable = |more: Value| {
        let mut variable = json!({"name": "A"});
        if let (Some(variable), Value::Object(more)) = (variable.as_object_mut(), more) {
            variable.extend(more);
        }
        json!({"env": [variable]})
    };
    let key = json!({"name": "n", "key": "k"});
    check(variable(json!({"value": "v"})), &[]);
    check(variable(json!({"valueFrom": {"configMapKeyRef": key}})), &[]);
    let path = "c[0].env[0].valueFrom";
    check(variable(json!({"valueFrom": {}})), &[(Invalid, path)]);
    check(variable(json!({"valueFrom": {"configMapKeyRef": key}, "value": "v"})), &[(Invalid, path)]);
    check(variable(json!({"valueFrom": {"configMapKeyRef": key, "secretKeyRef": key}})), &[(Invalid, path)]);
    check(variable(json!({"name": ""})), &[(Required, "c[0].env[0].name")]);
    check(variable(json!({"name": "a=b"})), &[(Invalid, "c[0].env[0].name")]);
    check(
        variable(json!({"valueFrom": {"secretKeyRef": {"key": "a/b"}}})),
        &[
            (Invalid, "c[0].env[0].valueFrom.secretKeyRef.name"),
            (Invalid, "c[0].env[0].valueFrom.secretKeyRef.key"),
        ],
    );
    check(
        variable(json!({"valueFrom": {"fileKeyRef": {"volumeName": "A", "path": "a/../b"}}})),
        &[
            (Required, "c[0].env[0].valueFrom.fileKeyRef.key"),
            (Invalid, "c[0].env[0].valueFrom.fileKeyRef.volumeName"),
            (Invalid, "c[0].env[0].valueFrom.fileKeyRef.path"),
        ],
    );
}

#[test]
fn sets_of_variables_have_one_source() {
    check(json!({"envFrom": [{"prefix": "p", "secretRef": {"name": "s"}}]}), &[]);
    check(json!({"envFrom": [{}]}), &[(Invalid, "c[0].envFrom")]);
    check(
        json!({"envFrom": [{"prefix": "=", "secretRef": {}, "configMapRef": {"name": "A"}}]}),
        &[
            (Invalid, "c[0].envFrom[0].prefix"),
            (Invalid, "c[0].envFrom[0].configMapRef.name"),
            (Required, "c[0].envFrom[0].secretRef.name"),
            (Invalid, "c[0].envFrom"),
        ],
    );
}

#[test]
fn mounts_are_of_volumes_at_different_places() {
    let mount = |more: Value| {
        let mut mount = json!({"name": "files", "mountPath": "/a"});
        if let (Some(mount), Value::Object(more)) = (mount.as_object_mut(), more) {
            mount.extend(more);
        }
        mount
    };
    let check =
        |mounts: Value, expected: &[(ErrorType, &str)]| check(json!({"volumeMounts": mounts}), expected);
    check(json!([mount(json!({"subPath": "x"}))]), &[]);
    check(json!([mount(json!({})), mount(json!({}))]), &[(Invalid, "c[0].volumeMounts[1].mountPath")]);
    check(
        json!([{}]),
        &[
            (Required, "c[0].volumeMounts[0].name"),
            (NotFound, "c[0].volumeMounts[0].name"),
            (Required, "c[0].volumeMounts[0].mountPath"),
        ],
    );
    check(
        json!([mount(json!({"subPath": "/x/..", "subPathExpr": "y"}))]),
        &[
            (Invalid, "c[0].volumeMounts.subPath"),
            (Invalid, "c[0].volumeMounts.subPath"),
            (Invalid, "c[0].volumeMounts[0].subPathExpr"),
        ],
    );
    check(
        json!([mount(json!({"mountPropagation": "x"}))]),
        &[(NotSupported, "c[0].volumeMounts.mountPropagation")],
    );
    check(
        json!([mount(json!({"mountPropagation": "Bidirectional"}))]),
        &[(Forbidden, "c[0].volumeMounts.mountPropagation")],
    );
    let read_only = "c[0].volumeMounts.recursiveReadOnly";
    check(json!([mount(json!({"recursiveReadOnly": "x"}))]), &[(NotSupported, read_only)]);
    check(json!([mount(json!({"recursiveReadOnly": "Enabled"}))]), &[(Forbidden, read_only)]);
    check(
        json!([mount(
            json!({"recursiveReadOnly": "Enabled", "readOnly": true, "mountPropagation": "HostToContainer"})
        )]),
        &[(Forbidden, read_only)],
    );
}

#[test]
fn privileged_containers_may_propagate_mounts() {
    let mount = json!({"name": "files", "mountPath": "/a", "mountPropagation": "Bidirectional"});
    check(json!({"volumeMounts": [mount], "securityContext": {"privileged": true}}), &[]);
}

#[test]
fn devices_are_of_claims() {
    let device = |name: &str, path: &str| json!({"name": name, "devicePath": path});
    let name = "c[0].volumeDevices[0].name";
    let path = "c[0].volumeDevices[0].devicePath";
    check(json!({"volumeDevices": [device("claim", "/d")]}), &[]);
    check(json!({"volumeDevices": [device("files", "/d")]}), &[(Invalid, name)]);
    check(json!({"volumeDevices": [device("none", "/../d")]}), &[(NotFound, name), (Invalid, path)]);
    check(json!({"volumeDevices": [{}]}), &[(Required, name), (NotFound, name), (Required, path)]);
    check(
        json!({"volumeDevices": [device("claim", "/d"), device("claim", "/d")]}),
        &[(Invalid, "c[0].volumeDevices[1].name"), (Invalid, "c[0].volumeDevices[1].devicePath")],
    );
    let mount = json!({"name": "claim", "mountPath": "/d"});
    check(
        json!({"volumeDevices": [device("claim", "/d")], "volumeMounts": [mount]}),
        &[
            (Invalid, "c[0].volumeMounts[0].name"),
            (Invalid, "c[0].volumeMounts[0].mountPath"),
            (Invalid, name),
            (Invalid, path),
        ],
    );
}

#[test]
fn probes_do_one_thing() {
    let probe = |more: Value| {
        let mut probe = json!({"successThreshold": 1});
        if let (Some(probe), Value::Object(more)) = (probe.as_object_mut(), more) {
            probe.extend(more);
        }
        json!({"livenessProbe": probe})
    };
    check(probe(json!({"exec": {"command": ["x"]}})), &[]);
    check(probe(json!({"grpc": {"port": 1}})), &[]);
    check(probe(json!({"tcpSocket": {"port": "name"}})), &[]);
    check(probe(json!({"sleep": {"seconds": 1}})), &[(Required, "c[0].livenessProbe")]);
    check(
        probe(json!({"exec": {}, "grpc": {"port": 1}})),
        &[(Required, "c[0].livenessProbe.exec.command"), (Forbidden, "c[0].livenessProbe.grpc")],
    );
    check(
        probe(json!({"httpGet": {"scheme": "http", "httpHeaders": [{"name": "a b"}]}})),
        &[
            (Required, "c[0].livenessProbe.httpGet.path"),
            (Invalid, "c[0].livenessProbe.httpGet.port"),
            (NotSupported, "c[0].livenessProbe.httpGet.scheme"),
            (Invalid, "c[0].livenessProbe.httpGet.httpHeaders"),
        ],
    );
    let exec = json!({"command": ["x"]});
    check(
        probe(
            json!({"exec": exec, "periodSeconds": -1, "successThreshold": 2, "terminationGracePeriodSeconds": 0}),
        ),
        &[
            (Invalid, "c[0].livenessProbe.periodSeconds"),
            (Invalid, "c[0].livenessProbe.terminationGracePeriodSeconds"),
            (Invalid, "c[0].livenessProbe.successThreshold"),
        ],
    );
    check(json!({"readinessProbe": {"exec": exec, "successThreshold": 2}}), &[]);
    check(
        json!({"readinessProbe": {"exec": exec, "terminationGracePeriodSeconds": 1}}),
        &[(Invalid, "c[0].readinessProbe.terminationGracePeriodSeconds")],
    );
}

#[test]
fn hooks_end_in_time() {
    let sleep = |seconds: i64| json!({"lifecycle": {"preStop": {"sleep": {"seconds": seconds}}}});
    check(sleep(0), &[]);
    check(sleep(30), &[]);
    check(sleep(31), &[(Invalid, "c[0].lifecycle.preStop.sleep")]);
    check(
        json!({"lifecycle": {"postStart": {"grpc": {"port": 1}}}}),
        &[(Required, "c[0].lifecycle.postStart")],
    );
}

#[test]
fn stop_signals_match_the_operating_system() {
    let check = |os: Value, signal: &str, expected: &[(ErrorType, &str)]| {
        let container = container("a", json!({"lifecycle": {"stopSignal": signal}}));
        check_spec(json!({"os": os, "containers": [container]}), expected);
    };
    let path = "c[0].lifecycle.stopSignal";
    check(Value::Null, "SIGTERM", &[(Forbidden, path)]);
    check(json!({"name": "linux"}), "SIGRTMIN+1", &[]);
    check(json!({"name": "windows"}), "SIGHUP", &[(NotSupported, path)]);
    check(json!({"name": "linux"}), "TERM", &[(NotSupported, path)]);
}

#[test]
fn restart_rules_need_a_policy_and_exit_codes() {
    let rule = json!({"action": "Restart", "exitCodes": {"operator": "In", "values": [1]}});
    check(json!({"restartPolicy": "Never", "restartPolicyRules": [rule]}), &[]);
    check(json!({"restartPolicyRules": [rule]}), &[(Required, "c[0].restartPolicy")]);
    check_init(json!({"restartPolicyRules": [rule]}), &[(Required, "i[0].restartPolicy")]);
    check(json!({"restartPolicy": "x"}), &[(NotSupported, "c[0].restartPolicy")]);
    let rules = vec![rule; 21];
    check(
        json!({"restartPolicy": "Never", "restartPolicyRules": rules}),
        &[(TooMany, "c[0].restartPolicyRules")],
    );
    let values: Vec<usize> = (0..256).collect();
    check(
        json!({"restartPolicy": "Never", "restartPolicyRules": [{}, {"action": "Restart", "exitCodes": {"values": values}}]}),
        &[
            (NotSupported, "c[0].restartPolicyRules[0].action"),
            (Required, "c[0].restartPolicyRules[0].exitCodes"),
            (NotSupported, "c[0].restartPolicyRules[1].exitCodes.operator"),
            (TooMany, "c[0].restartPolicyRules[1].exitCodes.values"),
        ],
    );
}

#[test]
fn gates_limit_restart_rules() {
    let check = |containers: Value, init: Value, options: PodOptions, expected: &[(ErrorType, &str)]| {
        let spec = json!({"containers": [containers], "initContainers": [init]});
        let errors = errors_with(spec, &options);
        let actual: Vec<_> = errors.iter().map(|error| (error.kind(), error.field())).collect();
        assert_eq!(actual, expected);
    };
    let never = |name: &str| container(name, json!({"restartPolicy": "Never"}));
    let expected = [(Forbidden, "c[0].restartPolicy"), (NotSupported, "i[0].restartPolicy")];
    check(never("a"), never("b"), PodOptions::default(), &expected);
    let rules = |policy: &str, action: &str| {
        let rule = json!({"action": action, "exitCodes": {"operator": "In", "values": [1]}});
        json!({"restartPolicy": policy, "restartPolicyRules": [rule]})
    };
    let without_all = PodOptions { restart_rules: true, ..PodOptions::default() };
    let expected =
        [(NotSupported, "c[0].restartPolicyRules[0].action"), (Forbidden, "i[0].restartPolicyRules")];
    let all = container("a", rules("Never", "RestartAllContainers"));
    check(all, container("b", rules("Always", "Restart")), without_all, &expected);
}

#[test]
fn resize_policy_fits_restart_policy() {
    let policy = |resource: &str, restart: &str| json!({"resourceName": resource, "restartPolicy": restart});
    check(json!({"resizePolicy": [policy("cpu", "RestartContainer")]}), &[]);
    check(
        json!({"resizePolicy": [policy("cpu", "NotRequired"), policy("cpu", "x"), policy("disk", "")]}),
        &[
            (Duplicate, "c[0].resizePolicy[1]"),
            (NotSupported, "c[0].resizePolicy"),
            (NotSupported, "c[0].resizePolicy"),
            (Required, "c[0].resizePolicy"),
        ],
    );
    let restarting = json!({"resizePolicy": [policy("cpu", "RestartContainer")]});
    let never = json!({"restartPolicy": "Never", "containers": [container("a", restarting.clone())]});
    check_spec(never, &[(Invalid, "c[0].resizePolicy")]);
    check_init(restarting, &[(Invalid, "i[0].resizePolicy[0].restartPolicy")]);
}

#[test]
fn only_sidecar_init_containers_have_probes() {
    let probe = json!({"exec": {"command": ["x"]}, "successThreshold": 1});
    check_init(json!({"restartPolicy": "Always", "startupProbe": probe, "lifecycle": {}}), &[]);
    check_init(
        json!({"startupProbe": probe, "lifecycle": {}}),
        &[(Forbidden, "i[0].lifecycle"), (Forbidden, "i[0].startupProbe")],
    );
}

#[test]
fn ephemeral_containers_have_no_service_fields() {
    check_ephemeral(json!({"targetContainerName": "a", "resources": {}}), &[]);
    check_ephemeral(json!({"targetContainerName": "b"}), &[(NotFound, "e[0].targetContainerName")]);
    check_ephemeral(json!({"image": " i"}), &[(Invalid, "e[0].image")]);
    check_ephemeral(
        json!({"lifecycle": {}, "resources": {"limits": {"cpu": "1"}}, "livenessProbe": {}, "restartPolicy": "Always"}),
        &[
            (Forbidden, "e[0].resources"),
            (Forbidden, "e[0].restartPolicy"),
            (Forbidden, "e[0].livenessProbe"),
            (Forbidden, "e[0].lifecycle"),
        ],
    );
    check_ephemeral(
        json!({"volumeMounts": [{"name": "files", "mountPath": "/a", "subPath": "b"}]}),
        &[(Forbidden, "e[0].volumeMounts[0].subPath")],
    );
}

#[test]
fn claims_and_limits_are_checked() {
    check(json!({"resources": {"claims": [{"name": "dev"}], "limits": {"cpu": "1"}}}), &[]);
    check(
        json!({"resources": {"claims": [{"name": "x"}], "limits": {"gpu": "1"}}}),
        &[
            (Invalid, "c[0].resources.limits[gpu]"),
            (Invalid, "c[0].resources.limits[gpu]"),
            (NotFound, "c[0].resources.claims[0]"),
        ],
    );
}
