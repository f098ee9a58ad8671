//! Tests of service updates.

use super::*;

/// Compares the resulting spec.
fn check(old: Value, new: Value, expected: Value) {
    let of = |spec: &Value| json!({"metadata": {}, "spec": spec});
    assert_eq!(updated("services", of(&old), of(&new))["spec"], expected, "{new}");
}

fn ports(ports: &[(&str, i64)]) -> Value {
    let port = |(name, node_port): &(&str, i64)| match node_port {
        0 => json!({"name": name}),
        number => json!({"name": name, "nodePort": number}),
    };
    ports.iter().map(port).collect()
}

#[test]
fn type_change_clears_obsolete_fields() {
    let balancer = |ty: &str| {
        json!({
            "type": ty, "clusterIP": "a", "clusterIPs": ["a"], "ipFamilies": ["IPv4"],
            "ipFamilyPolicy": "SingleStack", "ports": ports(&[("a", 1)]), "healthCheckNodePort": 2,
            "allocateLoadBalancerNodePorts": true, "loadBalancerClass": "c", "externalTrafficPolicy": "Local",
        })
    };
    let inner = json!({
        "type": "ClusterIP", "clusterIP": "a", "clusterIPs": ["a"], "ipFamilies": ["IPv4"],
        "ipFamilyPolicy": "SingleStack", "ports": ports(&[("a", 0)]),
    });
    check(balancer("LoadBalancer"), balancer("ClusterIP"), inner.clone());
    let alias = json!({"type": "ExternalName", "ports": ports(&[("a", 0)])});
    check(balancer("LoadBalancer"), balancer("ExternalName"), alias.clone());
    let mut other = inner.clone();
    other["type"] = "ExternalName".into();
    check(inner, other, alias);
}

#[test]
fn fields_changed_with_type_are_validated() {
    let old = json!({"type": "NodePort", "clusterIP": "a", "clusterIPs": ["a"], "ports": ports(&[("a", 1)])});
    let new =
        json!({"type": "ClusterIP", "clusterIP": "a", "clusterIPs": ["a"], "ports": ports(&[("a", 5)])});
    check(old.clone(), new.clone(), new);
    let new = json!({"type": "ExternalName", "clusterIP": "b", "clusterIPs": ["b"], "ports": []});
    check(old, new.clone(), new);
}

#[test]
fn only_a_load_balancer_keeps_its_status() {
    let of = |ty: &str| {
        json!({
            "metadata": {},
            "spec": {"type": ty},
            "status": {"loadBalancer": {"ingress": [1]}},
        })
    };
    let status = |path: &str, ty: &str| updated(path, of("LoadBalancer"), of(ty))["status"].clone();
    let full = json!({"loadBalancer": {"ingress": [1]}});
    assert_eq!(status("services", "LoadBalancer"), full);
    assert_eq!(status("services", "ClusterIP"), json!({}));
    assert_eq!(status("services/status", "ClusterIP"), full);
}

#[test]
fn an_alias_has_no_internal_traffic_policy() {
    let of = |ty: &str, policy: &str| json!({"type": ty, "internalTrafficPolicy": policy});
    check(of("ClusterIP", "Cluster"), of("ExternalName", "Cluster"), json!({"type": "ExternalName"}));
    check(json!({"type": "ExternalName"}), of("ExternalName", "x"), of("ExternalName", "x"));
    let created_spec =
        |spec: Value| created("services", json!({"metadata": {}, "spec": spec}))["spec"].clone();
    assert_eq!(created_spec(of("ExternalName", "Local")), json!({"type": "ExternalName"}));
    assert_eq!(created_spec(of("ClusterIP", "Local")), of("ClusterIP", "Local"));
}
