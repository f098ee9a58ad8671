//! Tests of fields that an update omits.

use super::*;
use kinds::strategy::service_fields::complete;

/// Compares the resulting spec.
fn check(old: Option<Value>, new: Value, expected: Value) {
    let of = |spec: Value| object(json!({"spec": spec}));
    let old = old.map(of);
    let mut new = of(new);
    complete(&mut new, old.as_ref());
    assert_eq!(new["spec"], expected);
}

fn ports(ports: &[(&str, i64)]) -> Value {
    let port = |(name, node_port): &(&str, i64)| match node_port {
        0 => json!({"name": name}),
        number => json!({"name": name, "nodePort": number}),
    };
    ports.iter().map(port).collect()
}

#[test]
fn old_client_gets_cluster_ips() {
    check(None, json!({"clusterIP": "None"}), json!({"clusterIP": "None", "clusterIPs": ["None"]}));
    check(None, json!({"clusterIPs": ["a"]}), json!({"clusterIPs": ["a"]}));
    check(None, json!({}), json!({}));
}

#[test]
fn omitted_addresses_are_kept() {
    let old = json!({"type": "ClusterIP", "clusterIP": "a", "clusterIPs": ["a", "b"]});
    let check = |new: Value, expected: Value| check(Some(old.clone()), new, expected);
    check(json!({"type": "ClusterIP"}), old.clone());
    check(json!({"type": "ClusterIP", "clusterIP": "a"}), old.clone());
    let changed = json!({"type": "ClusterIP", "clusterIP": "c", "clusterIPs": ["a", "b"]});
    check(changed, json!({"type": "ClusterIP", "clusterIP": "c", "clusterIPs": ["c"]}));
    let dual_stack = json!({"type": "ClusterIP", "clusterIP": "c", "clusterIPs": ["c", "d"]});
    check(dual_stack.clone(), dual_stack);
}

#[test]
fn omitted_node_ports_are_kept_by_name() {
    let check = |old: &[(&str, i64)], new: &[(&str, i64)], expected: &[(&str, i64)]| {
        let of = |list| json!({"type": "NodePort", "ports": ports(list)});
        check(Some(of(old)), of(new), of(expected));
    };
    check(&[("a", 1), ("b", 2)], &[("b", 0), ("a", 0), ("c", 0)], &[("b", 2), ("a", 1), ("c", 0)]);
    check(&[("a", 1), ("b", 2)], &[("a", 0), ("b", 1)], &[("a", 0), ("b", 1)]);
    check(&[("a", 1)], &[("a", 3)], &[("a", 3)]);
}

#[test]
fn disabled_node_ports_are_not_restored() {
    let of = |list: &[(&str, i64)]| {
        let mut spec = json!({"type": "LoadBalancer", "allocateLoadBalancerNodePorts": false});
        spec["ports"] = ports(list);
        spec
    };
    check(Some(of(&[("a", 1)])), of(&[("a", 0)]), of(&[("a", 0)]));
}
