//! Tests of versions that are no longer served but may be in storage. The expected values are upstream's
//! results for the same input.

use super::{check, check_both_ways};
use jsontree::{Value, json};

const ROLLBACK_TO: &str = "deprecated.deployment.rollback.to";
const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

#[test]
fn early_deployments_have_a_rollback_field() {
    let annotated =
        |revision: &str| json!({"metadata": {"annotations": {ROLLBACK_TO: revision}}, "spec": {}});
    for version in ["apps/v1beta1", "extensions/v1beta1"] {
        let mut old = json!({"metadata": {"annotations": {}}, "spec": {"rollbackTo": {"revision": 3}}});
        check_both_ways("Deployment", (version, old.clone()), ("apps/v1", annotated("3")));
        old["metadata"]["annotations"][ROLLBACK_TO] = json!("5");
        check("Deployment", (version, old), ("apps/v1", annotated("3")));
        let none = json!({"metadata": {"annotations": {}}, "spec": {}});
        check("Deployment", (version, annotated("x")), ("apps/v1", none));
        check("Deployment", (version, json!({"spec": {"rollbackTo": {}}})), ("apps/v1", annotated("0")));
        check("Deployment", ("apps/v1", annotated("")), (version, annotated("")));
    }
    check_both_ways("Deployment", ("apps/v1beta2", annotated("5")), ("apps/v1", annotated("5")));
}

#[test]
fn early_daemon_sets_have_a_generation_field() {
    let v1 = |generation: &str| json!({"metadata": {"annotations": {TEMPLATE_GENERATION: generation}}, "spec": {}});
    let old = "extensions/v1beta1";
    check_both_ways(
        "DaemonSet",
        (old, json!({"metadata": {"annotations": {}}, "spec": {"templateGeneration": 3}})),
        ("apps/v1", v1("3")),
    );
    check("DaemonSet", (old, v1("5")), ("apps/v1", v1("0")));
    check("DaemonSet", (old, json!({"spec": {}})), ("apps/v1", v1("0")));
}

#[test]
fn non_pointer_hub_fields_are_never_nil() {
    check_both_ways(
        "StatefulSet",
        ("apps/v1", json!({"status": {"observedGeneration": 2}})),
        ("apps/v1beta1", json!({"status": {"observedGeneration": 2}})),
    );
    check(
        "StatefulSet",
        ("apps/v1", json!({})),
        ("apps/v1beta1", json!({"status": {"observedGeneration": 0}})),
    );
    check(
        "CertificateSigningRequest",
        ("certificates.k8s.io/v1", json!({"spec": {}})),
        ("certificates.k8s.io/v1beta1", json!({"spec": {"signerName": ""}})),
    );
}

#[test]
fn access_reviews_rename_groups() {
    for kind in ["SubjectAccessReview", "LocalSubjectAccessReview"] {
        check_both_ways(
            kind,
            ("authorization.k8s.io/v1", json!({"spec": {"user": "u", "groups": ["a"]}})),
            ("authorization.k8s.io/v1beta1", json!({"spec": {"user": "u", "group": ["a"]}})),
        );
    }
}

#[test]
fn zones_and_nodes_were_topology_labels() {
    let v1 = "discovery.k8s.io/v1";
    let old = "discovery.k8s.io/v1beta1";
    let zone = "topology.kubernetes.io/zone";
    let host = "kubernetes.io/hostname";
    let slice = |endpoint: &Value| json!({"endpoints": [endpoint]});
    for (before, after) in [
        (json!({"topology": {zone: "z", host: "h"}, "nodeName": "h"}), json!({"nodeName": "h", "zone": "z"})),
        (
            json!({"topology": {host: "h"}, "nodeName": "i"}),
            json!({"deprecatedTopology": {host: "h"}, "nodeName": "i"}),
        ),
        (json!({"topology": {host: "h"}}), json!({"deprecatedTopology": {host: "h"}})),
        (json!({"topology": {zone: "z"}}), json!({"zone": "z"})),
        (json!({"topology": {"a": "b", zone: ""}}), json!({"deprecatedTopology": {"a": "b"}, "zone": ""})),
        (json!({}), json!({})),
    ] {
        check_both_ways("EndpointSlice", (old, slice(&before)), (v1, slice(&after)));
    }
    for (before, after) in
        [(json!({"topology": {}}), json!({})), (json!({"nodeName": "h"}), json!({"nodeName": "h"}))]
    {
        check("EndpointSlice", (old, slice(&before)), (v1, slice(&after)));
    }
    check(
        "EndpointSlice",
        (v1, slice(&json!({"nodeName": "h", "deprecatedTopology": {host: ""}}))),
        (old, slice(&json!({"nodeName": "h", "topology": {host: "h"}}))),
    );
}

#[test]
fn backends_were_a_name_beside_a_port() {
    let v1 = |backend: &Value| json!({"spec": {"defaultBackend": backend, "rules": [{"http": {"paths": [{"backend": backend}]}}]}});
    let old = |backend: &Value| json!({"spec": {"backend": backend, "rules": [{"http": {"paths": [{"backend": backend}]}}]}});
    let service = |name: &str, port: Value| json!({"service": {"name": name, "port": port}});
    for version in ["networking.k8s.io/v1beta1", "extensions/v1beta1"] {
        for (before, after) in [
            (json!({"serviceName": "a", "servicePort": 5}), service("a", json!({"number": 5}))),
            (json!({"serviceName": "a", "servicePort": "http"}), service("a", json!({"name": "http"}))),
            (json!({"serviceName": "", "servicePort": "x"}), service("", json!({"name": "x"}))),
            (json!({"serviceName": "a", "servicePort": 0}), service("a", json!({}))),
            (
                json!({"resource": {"kind": "k", "name": "n"}}),
                json!({"resource": {"kind": "k", "name": "n"}}),
            ),
            (json!({}), json!({})),
        ] {
            check_both_ways("Ingress", (version, old(&before)), ("networking.k8s.io/v1", v1(&after)));
        }
        for (before, after) in [
            (json!({"serviceName": "a"}), service("a", json!({}))),
            (json!({"servicePort": 0}), json!({})),
            (json!({"servicePort": ""}), service("", json!({"name": ""}))),
        ] {
            check("Ingress", (version, old(&before)), ("networking.k8s.io/v1", v1(&after)));
        }
    }
    check_both_ways(
        "Ingress",
        ("extensions/v1beta1", old(&json!({"serviceName": "a", "servicePort": 5}))),
        ("networking.k8s.io/v1beta1", old(&json!({"serviceName": "a", "servicePort": 5}))),
    );
}

#[test]
fn runtime_classes_had_a_spec() {
    let v1 = "node.k8s.io/v1";
    let old = "node.k8s.io/v1alpha1";
    check_both_ways(
        "RuntimeClass",
        (v1, json!({"handler": "r", "overhead": {}, "scheduling": {"nodeSelector": {"a": "b"}}})),
        (
            old,
            json!({"spec": {"runtimeHandler": "r", "overhead": {}, "scheduling": {"nodeSelector": {"a": "b"}}}}),
        ),
    );
    check("RuntimeClass", (old, json!({})), (v1, json!({})));
}

#[test]
fn shares_of_zero_survive_in_an_annotation() {
    let v1 = "flowcontrol.apiserver.k8s.io/v1";
    let kind = "PriorityLevelConfiguration";
    let preserve =
        json!({"annotations": {"flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares": ""}});
    let level =
        |metadata: &Value, limited: Value| json!({"metadata": metadata, "spec": {"limited": limited}});
    for old in ["v1beta1", "v1beta2"].map(|version| format!("flowcontrol.apiserver.k8s.io/{version}")) {
        for metadata in [&json!({}), &preserve] {
            check_both_ways(
                kind,
                (&old, level(metadata, json!({"assuredConcurrencyShares": 7}))),
                (v1, level(metadata, json!({"nominalConcurrencyShares": 7}))),
            );
        }
        check(
            kind,
            (&old, level(&json!({}), json!({}))),
            (v1, level(&json!({}), json!({"nominalConcurrencyShares": 0}))),
        );
    }
    let old = "flowcontrol.apiserver.k8s.io/v1beta3";
    let none = json!({"annotations": {}});
    for (metadata, shares) in [(&preserve, 0), (&none, 7)] {
        check_both_ways(
            kind,
            (old, level(metadata, json!({"nominalConcurrencyShares": shares}))),
            (v1, level(&none, json!({"nominalConcurrencyShares": shares}))),
        );
    }
    check(kind, (v1, level(&none, json!({}))), (old, level(&preserve, json!({}))));
    check_both_ways(kind, (v1, json!({"spec": {"exempt": {}}})), (old, json!({"spec": {"exempt": {}}})));
}

#[test]
fn empty_selectors_of_budgets_matched_nothing() {
    let v1 = "policy/v1";
    let old = "policy/v1beta1";
    let reserved = |operator: &str| json!({"key": "pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match", "operator": operator});
    let only = |operator: &str| json!({"matchExpressions": [reserved(operator)]});
    let budget = |selector: &Value| json!({"spec": {"selector": selector}});
    for (before, after) in [
        (json!({}), only("Exists")),
        (only("DoesNotExist"), json!({})),
        (Value::Null, Value::Null),
        (json!({"matchLabels": {"a": "b"}}), json!({"matchLabels": {"a": "b"}})),
    ] {
        check_both_ways("PodDisruptionBudget", (old, budget(&before)), (v1, budget(&after)));
    }
    let own = json!({"key": "a", "operator": "Exists"});
    for (before, after) in [
        (only("Exists"), json!({"matchExpressions": []})),
        (json!({"matchExpressions": [reserved("Exists"), own]}), json!({"matchExpressions": [own]})),
    ] {
        check("PodDisruptionBudget", (old, budget(&before)), (v1, budget(&after)));
    }
    check("PodDisruptionBudget", (v1, budget(&only("DoesNotExist"))), (old, budget(&only("DoesNotExist"))));
}

#[test]
fn subjects_had_versions_instead_of_groups() {
    let v1 = "rbac.authorization.k8s.io/v1";
    let old = "rbac.authorization.k8s.io/v1alpha1";
    let rbac = "rbac.authorization.k8s.io";
    let binding = |subject: &Value| json!({"subjects": [subject]});
    for kind in ["RoleBinding", "ClusterRoleBinding"] {
        for (before, after) in [
            (
                json!({"kind": "User", "name": "u", "apiVersion": old}),
                json!({"kind": "User", "name": "u", "apiGroup": rbac}),
            ),
            (
                json!({"kind": "Group", "name": "g", "apiVersion": old}),
                json!({"kind": "Group", "name": "g", "apiGroup": rbac}),
            ),
            (
                json!({"kind": "ServiceAccount", "apiVersion": "v1"}),
                json!({"kind": "ServiceAccount", "apiGroup": ""}),
            ),
            (json!({"kind": "Foo", "apiVersion": "g/"}), json!({"kind": "Foo", "apiGroup": "g"})),
            (json!({"kind": "Foo", "apiVersion": ""}), json!({"kind": "Foo", "apiGroup": ""})),
        ] {
            check_both_ways(kind, (old, binding(&before)), (v1, binding(&after)));
        }
        for (before, after) in [
            (
                json!({"kind": "User", "name": "*"}),
                json!({"kind": "Group", "name": "system:authenticated", "apiGroup": rbac}),
            ),
            (
                json!({"kind": "User", "name": "u", "apiVersion": "x/v1"}),
                json!({"kind": "User", "name": "u", "apiGroup": rbac}),
            ),
            (
                json!({"kind": "Foo", "name": "*", "apiVersion": "/"}),
                json!({"kind": "Foo", "name": "*", "apiGroup": ""}),
            ),
            (json!({"kind": "Foo", "apiVersion": "g/v1"}), json!({"kind": "Foo", "apiGroup": "g"})),
            (json!({"kind": "Foo", "apiVersion": "v1"}), json!({"kind": "Foo", "apiGroup": ""})),
            (json!({"kind": "Foo", "apiVersion": "a/b/c"}), json!({"kind": "Foo", "apiGroup": ""})),
        ] {
            check(kind, (old, binding(&before)), (v1, binding(&after)));
        }
    }
}
