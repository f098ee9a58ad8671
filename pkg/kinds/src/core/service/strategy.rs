//! Services: clears fields that the new type does not use (upstream's `registry/core/service/strategy.go`).
//!
//! A field is cleared only if the client did not change it, because a changed field must be validated.

use crate::strategy::hooks::{Context, Strategy};
use crate::strategy::service_fields::{
    has_cluster_ip, has_health_check_port, is_load_balancer, may_have_node_ports, node_ports, same_texts,
};
use api::tree;
use schema::object::{self, Object};

pub(crate) struct Services;

impl Strategy for Services {
    fn prepare_for_create(&self, service: &mut Object, _context: &Context<'_>) {
        let Some(spec) = tree::child_mut(service, "spec") else { return };
        drop_internal_policy_of_alias(spec);
    }

    fn prepare_for_update(&self, subresource: &str, new: &mut Object, old: &Object, _context: &Context<'_>) {
        if subresource == "status" {
            return;
        }
        if let (Some(new), Some(old)) = (tree::child_mut(new, "spec"), tree::child(old, "spec")) {
            clear_useless(new, old);
            drop_internal_policy_of_alias(new);
        }
        if object::get_str(new, &["spec", "type"]) != Some("LoadBalancer") {
            object::remove(new, &["status", "loadBalancer"]);
        }
    }
}

/// True if nodes or load balancers expose the service.
fn is_external(spec: &Object) -> bool {
    let addresses = !tree::list(spec, "externalIPs").is_empty();
    may_have_node_ports(spec) || (tree::text(spec, "type") == "ClusterIP" && addresses)
}

fn is_unchanged(new: &Object, old: &Object, name: &str) -> bool {
    new.get(name).filter(|v| !v.is_null()) == old.get(name).filter(|v| !v.is_null())
}

fn clear_useless(new: &mut Object, old: &Object) {
    if has_cluster_ip(old) && !has_cluster_ip(new) {
        if same_texts(new, old, "clusterIPs") && tree::text(new, "clusterIP") == tree::text(old, "clusterIP")
        {
            new.remove("clusterIP");
            new.remove("clusterIPs");
        }
        for name in ["ipFamilies", "ipFamilyPolicy"] {
            remove_if_same(new, old, name);
        }
    }
    if may_have_node_ports(old) && !may_have_node_ports(new) {
        let old_ports: Vec<i64> = node_ports(old).collect();
        if node_ports(new).all(|port| old_ports.contains(&port)) {
            tree::children_mut(new, "ports").for_each(|port| {
                port.remove("nodePort");
            });
        }
    }
    if has_health_check_port(old) && !has_health_check_port(new) {
        remove_if_same(new, old, "healthCheckNodePort");
    }
    if is_load_balancer(old) && !is_load_balancer(new) {
        remove_if_same(new, old, "allocateLoadBalancerNodePorts");
        remove_if_same(new, old, "loadBalancerClass");
    }
    if is_external(old) && !is_external(new) {
        remove_if_same(new, old, "externalTrafficPolicy");
    }
}

/// Removes the internal traffic policy of an ExternalName service. Upstream stores a valid one and hides it
/// from readers.
fn drop_internal_policy_of_alias(spec: &mut Object) {
    let valid = matches!(tree::text(spec, "internalTrafficPolicy"), "Cluster" | "Local");
    if !has_cluster_ip(spec) && valid {
        spec.remove("internalTrafficPolicy");
    }
}

fn remove_if_same(new: &mut Object, old: &Object, name: &str) {
    if is_unchanged(new, old, name) {
        new.remove(name);
    }
}
