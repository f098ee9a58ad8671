//! Tests of writes against quotas.
#![allow(clippy::unwrap_used)]

use jsontree::{Value, json};

use super::*;
use crate::testing::{Store, Write};

fn quota(name: &str, spec: Value, hard: Value, used: Value) -> (&'static str, Value) {
    let metadata = json!({"name": name, "namespace": "ns", "uid": name, "resourceVersion": "1"});
    ("resourcequotas", json!({"metadata": metadata, "spec": spec, "status": {"hard": hard, "used": used}}))
}

fn plugin(store: &Arc<Store>) -> ResourceQuota {
    ResourceQuota::new(Arc::clone(store) as _, Arc::clone(store) as _).unwrap()
}

fn used(store: &Store, name: &str) -> Value {
    let quota = store.read("resourcequotas", "ns", name).unwrap();
    quota["status"]["used"].clone()
}

fn pod(spec: Value) -> Value {
    json!({"metadata": {"name": "p", "namespace": "ns"}, "spec": spec})
}

fn container(cpu: &str) -> Value {
    json!({"name": "c", "resources": {"requests": {"cpu": cpu}}})
}

#[test]
fn usage_is_counted_up_to_limit() {
    let hard = json!({"pods": "2", "requests.cpu": "1"});
    let store = Store::of([quota("q", json!({}), hard, json!({"pods": "0", "requests.cpu": "0"}))]);
    let plugin = plugin(&store);
    let create = |spec: Value| Write::default().validated(&plugin, pod(spec)).err();
    assert_eq!(create(json!({"containers": [container("400m")]})), None);
    assert_eq!(used(&store, "q"), json!({"pods": "1", "requests.cpu": "400m"}));
    let refused = create(json!({"containers": [container("700m")]})).unwrap();
    let cause =
        "exceeded quota: q, requested: requests.cpu=700m, used: requests.cpu=400m, limited: requests.cpu=1";
    assert_eq!(refused, format!("pods \"p\" is forbidden: {cause}"));
    let refused = create(json!({"containers": [{"name": "b"}, {"name": "a"}]})).unwrap();
    assert_eq!(refused, "pods \"p\" is forbidden: failed quota: q: must specify requests.cpu for: a,b");
    assert_eq!(used(&store, "q"), json!({"pods": "1", "requests.cpu": "400m"}));
}

#[test]
fn a_dry_run_is_not_counted() {
    let store = Store::of([quota("q", json!({}), json!({"pods": "1"}), json!({"pods": "0"}))]);
    let write = Write { dry_run: true, ..Write::default() };
    assert!(write.validated(&plugin(&store), pod(json!({}))).is_ok());
    assert_eq!(used(&store, "q"), json!({"pods": "0"}));
}

#[test]
fn quota_without_status_rejects() {
    let store = Store::of([quota("q", json!({}), json!({"pods": "1"}), json!({}))]);
    let got = Write::default().validated(&plugin(&store), pod(json!({}))).unwrap_err();
    assert_eq!(got, "pods \"p\" is forbidden: status unknown for quota: q, resources: pods");
}

#[test]
fn conflicting_status_write_is_retried() {
    let check = |conflicts: u32, expected: Option<u16>| {
        let store = Store::of([quota("q", json!({}), json!({"pods": "9"}), json!({"pods": "0"}))]);
        *store.conflicts.lock().unwrap() = conflicts;
        let got = Write::default().validated(&plugin(&store), pod(json!({})));
        assert_eq!(got.is_err(), expected.is_some(), "{got:?}");
        let usage = if expected.is_none() { "1" } else { "0" };
        assert_eq!(used(&store, "q"), json!({"pods": usage}));
    };
    check(0, None);
    check(3, None);
    check(4, Some(409));
}

#[test]
fn a_scope_decides_which_pods_count() {
    let check = |spec: Value, of_pod: Value, expected: bool| {
        let store = Store::of([quota("q", spec.clone(), json!({"pods": "0"}), json!({"pods": "0"}))]);
        let got = Write::default().validated(&plugin(&store), pod(of_pod.clone()));
        assert_eq!(got.is_err(), expected, "{spec} {of_pod}");
    };
    let best_effort = json!({"containers": [{}]});
    let burstable = json!({"containers": [container("1")]});
    check(json!({"scopes": ["BestEffort"]}), best_effort.clone(), true);
    check(json!({"scopes": ["BestEffort"]}), burstable.clone(), false);
    check(json!({"scopes": ["NotBestEffort"]}), burstable, true);
    check(json!({"scopes": ["Terminating"]}), json!({"activeDeadlineSeconds": 60}), true);
    check(json!({"scopes": ["NotTerminating"]}), json!({"activeDeadlineSeconds": 60}), false);
    let class = |operator: &str| {
        json!({"scopeSelector": {"matchExpressions":
            [{"scopeName": "PriorityClass", "operator": operator, "values": ["high"]}]}})
    };
    let high = json!({"priorityClassName": "high"});
    check(class("In"), high.clone(), true);
    check(class("In"), best_effort.clone(), false);
    check(class("NotIn"), high.clone(), false);
    check(class("NotIn"), best_effort.clone(), true);
    check(class("Exists"), high, true);
    check(class("DoesNotExist"), best_effort, true);
    let affinity = |term: Value| json!({"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}});
    let cross = json!({"scopes": ["CrossNamespacePodAffinity"]});
    check(cross.clone(), affinity(json!({"namespaces": ["x"]})), true);
    check(cross.clone(), affinity(json!({"namespaceSelector": {}})), true);
    check(cross, affinity(json!({})), false);
}

#[test]
fn each_kind_has_its_usage() {
    let check = |write: Write, object: Value, hard: Value, expected: Value| {
        let zeros = hard.as_object().unwrap().keys().map(|name| (name.clone(), json!("0")));
        let zeros: jsontree::Object = zeros.collect();
        let store = Store::of([quota("q", json!({}), hard, Value::Object(zeros))]);
        write.validated(&plugin(&store), object).unwrap();
        assert_eq!(used(&store, "q"), expected);
    };
    let named = |spec: Value| json!({"metadata": {"name": "a", "namespace": "ns"}, "spec": spec});
    check(
        Write::of("", "v1", "services"),
        named(json!({"type": "LoadBalancer", "ports": [{}, {}]})),
        json!({"services": "9", "services.nodeports": "9", "services.loadbalancers": "9"}),
        json!({"services": "1", "services.nodeports": "2", "services.loadbalancers": "1"}),
    );
    check(
        Write::of("", "v1", "persistentvolumeclaims"),
        named(json!({"storageClassName": "fast", "resources": {"requests": {"storage": "1Gi"}}})),
        json!({"requests.storage": "9Gi", "fast.storageclass.storage.k8s.io/persistentvolumeclaims": "9"}),
        json!({"requests.storage": "1Gi", "fast.storageclass.storage.k8s.io/persistentvolumeclaims": "1"}),
    );
    check(
        Write::of("", "v1", "secrets"),
        named(json!({})),
        json!({"secrets": "9", "count/secrets": "9", "count/configmaps": "9"}),
        json!({"secrets": "1", "count/secrets": "1", "count/configmaps": "0"}),
    );
    check(
        Write::of("apps", "v1", "deployments"),
        named(json!({})),
        json!({"count/deployments.apps": "9"}),
        json!({"count/deployments.apps": "1"}),
    );
    let devices = json!({"devices": {"requests":
        [{"exactly": {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 2}}]}});
    check(
        Write::of("resource.k8s.io", "v1", "resourceclaims"),
        named(devices),
        json!({"gpu.deviceclass.resource.k8s.io/devices": "9"}),
        json!({"gpu.deviceclass.resource.k8s.io/devices": "2"}),
    );
}

#[test]
fn update_counts_only_growth() {
    let hard = json!({"requests.storage": "9Gi", "persistentvolumeclaims": "1"});
    let store = Store::of([quota(
        "q",
        json!({}),
        hard,
        json!({"requests.storage": "2Gi", "persistentvolumeclaims": "1"}),
    )]);
    let claim = |size: &str| json!({"metadata": {"name": "c", "namespace": "ns"}, "spec": {"resources": {"requests": {"storage": size}}}});
    let write = |old: &str| Write::of("", "v1", "persistentvolumeclaims").over(claim(old));
    write("2Gi").validated(&plugin(&store), claim("5Gi")).unwrap();
    assert_eq!(used(&store, "q"), json!({"requests.storage": "5Gi", "persistentvolumeclaims": "1"}));
    write("5Gi").validated(&plugin(&store), claim("1Gi")).unwrap();
    assert_eq!(used(&store, "q")["requests.storage"], "5Gi");
    assert!(write("5Gi").validated(&plugin(&store), claim("10Gi")).is_err());
}

fn limited(store: &Arc<Store>, resources: &str) -> ResourceQuota {
    let head = "apiVersion: apiserver.config.k8s.io/v1\nkind: ResourceQuotaConfiguration\n";
    let text = format!("{head}limitedResources: {resources}");
    plugin(store).with_configuration(QuotaConfiguration::parse(text.as_bytes()).unwrap())
}

#[test]
fn limited_resource_needs_covering_quota() {
    let rule = r#"[{resource: pods, matchContains: [".cpu"]}]"#;
    let plain = || pod(json!({"containers": [container("1")]}));
    let none = Store::of([]);
    let refused = Write::default().validated(&limited(&none, rule), plain()).unwrap_err();
    assert_eq!(refused, "pods \"p\" is forbidden: insufficient quota to consume: requests.cpu");
    let other = Store::of([quota("q", json!({}), json!({"pods": "2"}), json!({"pods": "0"}))]);
    assert!(Write::default().validated(&limited(&other, rule), plain()).is_err());
    let hard = json!({"requests.cpu": "2"});
    let counts = Store::of([quota("q", json!({}), hard, json!({"requests.cpu": "0"}))]);
    assert_eq!(Write::default().validated(&limited(&counts, rule), plain()), Ok(Vec::new()));
    assert_eq!(used(&counts, "q"), json!({"requests.cpu": "1"}));
    assert!(Write::default().validated(&limited(&none, rule), pod(json!({}))).is_ok());
    let claims = r#"[{resource: services, matchContains: ["cpu"]}]"#;
    assert!(Write::default().validated(&limited(&none, claims), plain()).is_ok());
}

#[test]
fn limited_scope_needs_matching_quota() {
    let rule = r#"[{resource: pods, matchScopes: [{scopeName: PriorityClass, operator: In, values: [top, other]}]}]"#;
    let of_class = |class: &str| pod(json!({"priorityClassName": class}));
    let none = Store::of([]);
    let refused = Write::default().validated(&limited(&none, rule), of_class("top")).unwrap_err();
    assert_eq!(refused, "insufficient quota to match these scopes: [{PriorityClass In [top other]}]");
    assert!(Write::default().validated(&limited(&none, rule), of_class("low")).is_ok());
    let selector =
        json!({"matchExpressions": [{"scopeName": "PriorityClass", "operator": "In", "values": ["top"]}]});
    let spec = json!({"scopeSelector": selector});
    let store = Store::of([quota("q", spec, json!({"pods": "1"}), json!({"pods": "0"}))]);
    assert!(Write::default().validated(&limited(&store, rule), of_class("top")).is_ok());
    assert!(Write::default().validated(&limited(&store, rule), of_class("other")).is_err());
    let unsound =
        r#"[{resource: pods, matchScopes: [{scopeName: PriorityClass, operator: Is, values: [top]}]}]"#;
    assert!(Write::default().validated(&limited(&none, unsound), of_class("top")).is_ok());
}
