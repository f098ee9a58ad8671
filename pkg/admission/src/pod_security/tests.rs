//! Tests of pods and namespaces against the Pod Security Standards.
#![allow(clippy::unwrap_used)]

use component_base::metrics::MetricsRegistry;
use jsontree::{Value, json};

use super::standard::violations;
use super::*;
use crate::testing::{Store, Write, object};

fn check(of: LevelVersion, spec: Value, expected: &str) {
    let pod = object(json!({"metadata": {"name": "p"}, "spec": spec}));
    let got = detail(&violations(of, &pod, child(&pod, "spec").unwrap()));
    assert_eq!(got.unwrap_or_default(), expected);
}

const BASELINE: LevelVersion = LevelVersion { level: Level::Baseline, version: None };
const RESTRICTED: LevelVersion = LevelVersion { level: Level::Restricted, version: None };

/// Builds a pod that satisfies all levels, then applies `change`.
fn strict(change: impl FnOnce(&mut Value)) -> Value {
    let context = json!({"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}});
    let mut spec = json!({
        "containers": [{"name": "c", "securityContext": context}],
        "securityContext": {"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}},
    });
    change(&mut spec);
    spec
}

#[test]
fn plain_pod_is_baseline_but_not_restricted() {
    let plain = json!({"containers": [{"name": "a"}, {"name": "b"}]});
    check(BASELINE, plain.clone(), "");
    check(
        RESTRICTED,
        plain,
        "allowPrivilegeEscalation != false (containers \"a\", \"b\" must set securityContext.allowPrivilegeEscalation=false), \
         unrestricted capabilities (containers \"a\", \"b\" must set securityContext.capabilities.drop=[\"ALL\"]), \
         runAsNonRoot != true (pod or containers \"a\", \"b\" must set securityContext.runAsNonRoot=true), \
         seccompProfile (pod or containers \"a\", \"b\" must set securityContext.seccompProfile.type to \"RuntimeDefault\" or \"Localhost\")",
    );
    check(RESTRICTED, strict(|_| {}), "");
}

#[test]
fn each_check_names_fields_to_change() {
    let container = |member: &str, value: Value| {
        let member = member.to_owned();
        move |spec: &mut Value| spec["containers"][0]["securityContext"][&member] = value
    };
    let pod = |member: &str, value: Value| {
        let member = member.to_owned();
        move |spec: &mut Value| spec["securityContext"][&member] = value
    };
    let check = |spec: Value, expected: &str| check(RESTRICTED, spec, expected);
    check(strict(|spec| spec["hostPID"] = json!(true)), "host namespaces (hostPID=true)");
    check(
        strict(container("privileged", json!(true))),
        "privileged (container \"c\" must not set securityContext.privileged=true)",
    );
    check(
        strict(container("capabilities", json!({"drop": ["ALL"], "add": ["NET_ADMIN", "NET_BIND_SERVICE"]}))),
        "unrestricted capabilities (container \"c\" must not include \"NET_ADMIN\" in securityContext.capabilities.add)",
    );
    check(
        strict(|spec| spec["volumes"] = json!([{"name": "v", "hostPath": {}}, {"name": "w", "secret": {}}])),
        "restricted volume types (volume \"v\" uses restricted volume type \"hostPath\")",
    );
    check(
        strict(|spec| spec["containers"][0]["ports"] = json!([{"hostPort": 80}, {"hostPort": 443}])),
        "hostPort (container \"c\" uses hostPorts 443, 80)",
    );
    check(
        strict(|spec| spec["containers"][0]["livenessProbe"] = json!({"httpGet": {"host": "h"}})),
        "probe or lifecycle host (container \"c\" uses probe or lifecycle host \"h\")",
    );
    check(
        strict(container("procMount", json!("Unmasked"))),
        "procMount (container \"c\" must not set securityContext.procMount to \"Unmasked\")",
    );
    check(
        strict(pod("seLinuxOptions", json!({"type": "x", "user": "u"}))),
        "seLinuxOptions (pod set forbidden securityContext.seLinuxOptions: type \"x\"; user may not be set)",
    );
    check(
        strict(container("seccompProfile", json!({"type": "Unconfined"}))),
        "seccompProfile (container \"c\" must not set securityContext.seccompProfile.type to \"Unconfined\")",
    );
    check(
        strict(pod("sysctls", json!([{"name": "kernel.msgmax"}, {"name": "net.ipv4.tcp_rmem"}]))),
        "forbidden sysctls (kernel.msgmax)",
    );
    check(
        strict(pod("windowsOptions", json!({"hostProcess": true}))),
        "hostProcess (pod must not set securityContext.windowsOptions.hostProcess=true)",
    );
    check(
        strict(container("appArmorProfile", json!({"type": "Unconfined"}))),
        "forbidden AppArmor profile (container \"c\" must not set AppArmor profile type to \"Unconfined\")",
    );
    check(strict(pod("runAsUser", json!(0))), "runAsUser=0 (pod must not set runAsUser=0)");
    check(
        strict(container("runAsNonRoot", json!(false))),
        "runAsNonRoot != true (container \"c\" must not set securityContext.runAsNonRoot=false)",
    );
}

#[test]
fn checks_depend_on_version() {
    let at = |level: Level, minor: u32| LevelVersion { level, version: Some(minor) };
    let sysctl = json!({"securityContext": {"sysctls": [{"name": "net.ipv4.tcp_rmem"}]}});
    check(at(Level::Baseline, 32), sysctl.clone(), "");
    check(at(Level::Baseline, 31), sysctl, "forbidden sysctls (net.ipv4.tcp_rmem)");
    let windows = json!({"os": {"name": "windows"}, "containers": [{"name": "c"}],
        "securityContext": {"runAsNonRoot": true}});
    check(RESTRICTED, windows.clone(), "");
    check(
        at(Level::Restricted, 8),
        windows,
        "allowPrivilegeEscalation != false (container \"c\" must set securityContext.allowPrivilegeEscalation=false)",
    );
    let path = json!({"volumes": [{"name": "v", "hostPath": {}}]});
    check(at(Level::Baseline, 0), path, "hostPath volumes (volume \"v\")");
    let users = strict(|spec| {
        spec["hostUsers"] = json!(false);
        spec["securityContext"]["runAsUser"] = json!(0);
    });
    check(RESTRICTED, users.clone(), "");
    check(at(Level::Restricted, 34), users, "runAsUser=0 (pod must not set runAsUser=0)");
}

fn namespace(labels: &[(&str, &str)]) -> Value {
    let labels =
        labels.iter().map(|(key, value)| (format!("pod-security.kubernetes.io/{key}"), json!(value)));
    json!({"metadata": {"name": "ns", "labels": labels.collect::<jsontree::Object>()}})
}

#[test]
fn namespace_labels_enforce_and_warn() {
    let check = |labels: &[(&str, &str)], spec: Value, expected: Result<usize, &str>| {
        let plugin =
            PodSecurity::new(Store::of([("namespaces", namespace(labels))]), Arc::default()).unwrap();
        let pod = json!({"metadata": {"name": "p"}, "spec": spec});
        let got = Write::default().validated(&plugin, pod).map(|warnings| warnings.len());
        let refusal = |start: &str| format!("pods \"p\" is forbidden: violates PodSecurity {start}");
        match expected {
            Ok(warnings) => assert_eq!(got, Ok(warnings), "{labels:?}"),
            Err(start) => assert!(got.unwrap_err().starts_with(&refusal(start)), "{labels:?}"),
        }
    };
    let host = json!({"hostPID": true});
    check(&[], host.clone(), Ok(0));
    check(&[("enforce", "baseline")], json!({}), Ok(0));
    check(&[("enforce", "baseline")], host.clone(), Err("\"baseline:latest\": host namespaces"));
    check(
        &[("enforce", "baseline"), ("enforce-version", "v1.20")],
        host.clone(),
        Err("\"baseline:v1.20\": "),
    );
    check(&[("warn", "baseline")], host.clone(), Ok(1));
    check(&[("enforce", "nonsense")], host, Err("\"restricted:latest\": "));
}

#[test]
fn an_update_without_new_images_passes() {
    let plugin =
        PodSecurity::new(Store::of([("namespaces", namespace(&[("enforce", "baseline")]))]), Arc::default())
            .unwrap();
    let pod = |image: &str| json!({"metadata": {"name": "p"}, "spec": {"hostPID": true, "containers": [{"image": image}]}});
    assert!(Write::default().over(pod("a")).validated(&plugin, pod("a")).is_ok());
    assert!(Write::default().over(pod("a")).validated(&plugin, pod("b")).is_err());
    let ephemeral = json!({"metadata": {"name": "p"}, "spec": {"hostPID": true, "containers": [{"image": "a"}],
        "ephemeralContainers": [{"name": "e", "image": "a"}]}});
    assert!(
        Write::default().through("ephemeralcontainers").over(pod("a")).validated(&plugin, ephemeral).is_err()
    );
}

#[test]
fn templates_only_cause_warnings() {
    let plugin =
        PodSecurity::new(Store::of([("namespaces", namespace(&[("enforce", "baseline")]))]), Arc::default())
            .unwrap();
    let template = json!({"spec": {"hostPID": true}});
    let deployment = json!({"metadata": {"name": "d"}, "spec": {"template": template}});
    let got = Write::of("apps", "v1", "deployments").validated(&plugin, deployment);
    let warning = "would violate PodSecurity \"baseline:latest\": host namespaces (hostPID=true)".to_owned();
    assert_eq!(got, Ok(vec![warning.clone()]));
    let cron = json!({"metadata": {"name": "c"}, "spec": {"jobTemplate": {"spec": {"template": template}}}});
    assert_eq!(Write::of("batch", "v1", "cronjobs").validated(&plugin, cron), Ok(vec![warning]));
}

#[test]
fn stricter_namespace_warns_about_existing_pods() {
    let pod = |name: &str| {
        ("pods", json!({"metadata": {"name": name, "namespace": "ns"}, "spec": {"hostPID": true}}))
    };
    let plugin = PodSecurity::new(Store::of([pod("a"), pod("b")]), Arc::default()).unwrap();
    let namespaces = || Write::of("", "v1", "namespaces");
    let stricter =
        namespaces().over(namespace(&[])).validated(&plugin, namespace(&[("enforce", "baseline")]));
    let expected = [
        "existing pods in namespace \"ns\" violate the new PodSecurity enforce level \"baseline:latest\"",
        "a (and 1 other pod): host namespaces",
    ];
    assert_eq!(stricter.unwrap(), expected);
    let looser = namespaces().over(namespace(&[("enforce", "baseline")])).validated(&plugin, namespace(&[]));
    assert_eq!(looser, Ok(vec![]));
}

#[test]
fn emulated_release_limits_versions() {
    let plugin = |minor| {
        let effective = Effective::emulating(Release::minor_of_1(minor));
        PodSecurity::new(Store::of([]), Arc::default()).unwrap().with_release(effective)
    };
    let sysctl = json!([{"name": "net.ipv4.tcp_slow_start_after_idle", "value": "0"}]);
    let spec = strict(|spec| spec["securityContext"]["sysctls"] = sysctl);
    let pod = object(json!({"metadata": {"name": "p"}, "spec": spec}));
    let count = |minor, of| plugin(minor).violations(of, &pod, child(&pod, "spec").unwrap()).len();
    assert_eq!([35, 36, 37].map(|minor| count(minor, RESTRICTED)), [1, 1, 0]);
    let of_37 = LevelVersion { version: Some(37), ..RESTRICTED };
    assert_eq!([36, 37].map(|minor| count(minor, of_37)), [1, 0]);
}

#[test]
fn new_invalid_labels_are_rejected() {
    let plugin = PodSecurity::new(Store::of([]), Arc::default()).unwrap();
    let bad = || namespace(&[("enforce", "x"), ("warn-version", "1.2")]);
    let got = Write::of("", "v1", "namespaces").validated(&plugin, bad()).unwrap_err();
    assert_eq!(
        got,
        "Namespace \"ns\" is invalid: [metadata.labels[pod-security.kubernetes.io/enforce]: Invalid value: \"x\": \
         must be one of privileged, baseline, restricted, \
         metadata.labels[pod-security.kubernetes.io/warn-version]: Invalid value: \"1.2\": must be \"latest\" or \"v1.x\"]"
    );
    assert!(Write::of("", "v1", "namespaces").over(bad()).validated(&plugin, bad()).is_ok());
}

#[test]
fn evaluations_and_errors_are_counted() {
    let check = |labels: &[(&str, &str)], expected: &[&str]| {
        let registry = MetricsRegistry::default();
        let metrics = Arc::new(PodSecurityMetrics::new(&registry));
        let plugin =
            PodSecurity::new(Store::of([("namespaces", namespace(labels))]), Arc::clone(&metrics)).unwrap();
        let pod = json!({"metadata": {"name": "p"}, "spec": {"hostPID": true}});
        let _ = Write::default().validated(&plugin, pod);
        let page = registry.to_string();
        let evaluations = page
            .lines()
            .filter(|line| line.ends_with(" 1"))
            .filter_map(|line| line.strip_prefix("pod_security_"));
        let tail = ",request_operation=\"create\",resource=\"pod\",subresource=\"\"} 1";
        assert_eq!(
            evaluations.filter_map(|line| line.strip_suffix(tail)).collect::<Vec<_>>(),
            expected,
            "{page}"
        );
    };
    let evaluation = |decision: &str, mode: &str, level: &str, version: &str| {
        format!(
            "evaluations_total{{decision={decision:?},mode={mode:?},policy_level={level:?},policy_version={version:?}"
        )
    };
    check(&[], &[&evaluation("allow", "enforce", "privileged", "latest")]);
    check(
        &[("enforce", "baseline"), ("enforce-version", "v1.30")],
        &[&evaluation("deny", "enforce", "baseline", "v1.30")],
    );
    let errors_and_evaluations = [
        evaluation("allow", "enforce", "privileged", "latest"),
        evaluation("deny", "audit", "restricted", "future"),
    ];
    let errors_and_evaluations: Vec<&str> = errors_and_evaluations.iter().map(String::as_str).collect();
    check(&[("audit", "restricted"), ("audit-version", "v1.99")], &errors_and_evaluations);
    check(
        &[("warn", "nonsense")],
        &["errors_total{fatal=\"false\"", &evaluation("allow", "enforce", "privileged", "latest")],
    );
}

/// Plugin with a configuration, in a namespace with these labels.
fn plugin_with_metrics(
    labels: &[(&str, &str)],
    text: &str,
    metrics: &Arc<PodSecurityMetrics>,
) -> PodSecurity {
    let head = "apiVersion: pod-security.admission.config.k8s.io/v1\nkind: PodSecurityConfiguration\n";
    let configuration = PodSecurityConfiguration::parse(format!("{head}{text}").as_bytes()).unwrap();
    let store = Store::of([("namespaces", namespace(labels))]);
    PodSecurity::new(store, Arc::clone(metrics)).unwrap().with_configuration(configuration)
}

#[test]
fn configuration_applies_without_labels() {
    let check = |labels: &[(&str, &str)], expected: bool| {
        let plugin = plugin_with_metrics(labels, "defaults: {enforce: baseline}", &Arc::default());
        let pod = json!({"metadata": {"name": "p"}, "spec": {"hostPID": true}});
        assert_eq!(Write::default().validated(&plugin, pod).is_ok(), expected);
    };
    check(&[], false);
    check(&[("enforce", "privileged")], true);
    check(&[("enforce-version", "v1.20")], false);
}

#[test]
fn exemptions_are_counted_and_not_checked() {
    let check = |exemptions: &str, expected: bool| {
        let registry = MetricsRegistry::default();
        let metrics = Arc::new(PodSecurityMetrics::new(&registry));
        let plugin =
            plugin_with_metrics(&[("enforce", "baseline")], &format!("exemptions: {exemptions}"), &metrics);
        let mut write = Write::default();
        write.user.name = "me".to_owned();
        let spec = json!({"hostPID": true, "runtimeClassName": "r"});
        let pod = json!({"metadata": {"name": "p"}, "spec": spec});
        assert_eq!(write.validated(&plugin, pod).is_ok(), expected, "{exemptions}");
        let page = registry.to_string();
        let exempt_line =
            "pod_security_exemptions_total{request_operation=\"create\",resource=\"pod\",subresource=\"\"} 1";
        assert_eq!(page.contains(exempt_line), expected, "{page}");
    };
    check("{}", false);
    check("{usernames: [me]}", true);
    check("{namespaces: [ns]}", true);
    check("{runtimeClasses: [r]}", true);
    check("{usernames: [ns], namespaces: [me], runtimeClasses: [me]}", false);
}

#[test]
fn audit_event_contains_decision() {
    let check = |labels: &[(&str, &str)], exemptions: &str, expected: &[(&str, &str)]| {
        let plugin = plugin_with_metrics(labels, &format!("exemptions: {exemptions}"), &Arc::default());
        let write = Write::default();
        let mut notes = AdmissionNotes::default();
        let pod = object(json!({"metadata": {"name": "p"}, "spec": {"hostPID": true}}));
        let attributes = write.attributes("p");
        let verdict = plugin.validate(&attributes, Some(&pod), &mut notes);
        let _ = futures::FutureExt::now_or_never(verdict).unwrap();
        let annotations = notes.annotations().iter();
        let got: Vec<(&str, &str)> = annotations
            .map(|note| (note.key.strip_prefix("pod-security.kubernetes.io/").unwrap(), note.value.as_str()))
            .collect();
        assert_eq!(got, expected);
    };
    let violation = "would violate PodSecurity \"baseline:v1.30\": host namespaces (hostPID=true)";
    check(&[], "{}", &[("enforce-policy", "privileged:latest")]);
    check(
        &[("enforce", "privileged"), ("enforce-version", "v1.30")],
        "{}",
        &[("enforce-policy", "privileged:latest")],
    );
    check(&[("enforce", "baseline")], "{}", &[("enforce-policy", "baseline:latest")]);
    check(
        &[("audit", "baseline"), ("audit-version", "v1.30")],
        "{}",
        &[("enforce-policy", "privileged:latest"), ("audit-violations", violation)],
    );
    check(&[("enforce", "baseline")], "{namespaces: [ns]}", &[("exempt", "namespace")]);
}
