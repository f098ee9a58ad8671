//! Services: what an update leaves out of allocated values is filled in again, and what its new type
//! has no use for is cleared (upstream's `registry/core/service/strategy.go` and `storage/storage.go`).
//! A field is cleared only if the client did not change it: a change deserves an answer by validation.

use api::tree;
use schema::object::{self, Object};
use serde_json::Value;

use super::{Context, Strategy};

pub(super) struct Services;

impl Strategy for Services {
    fn prepare_for_create(&self, service: &mut Object, _context: &Context<'_>) {
        let Some(spec) = tree::child_mut(service, "spec") else { return };
        let address = tree::text(spec, "clusterIP").to_owned();
        if !address.is_empty() && tree::list(spec, "clusterIPs").is_empty() {
            spec.insert("clusterIPs".to_owned(), vec![address].into());
        }
        drop_internal_policy_of_alias(spec);
    }

    fn prepare_for_update(&self, subresource: &str, new: &mut Object, old: &Object, _context: &Context<'_>) {
        if subresource == "status" {
            return;
        }
        if let (Some(new), Some(old)) = (tree::child_mut(new, "spec"), tree::child(old, "spec")) {
            fill_in_allocated(new, old);
            align_cluster_ips(new, old);
            clear_useless(new, old);
            drop_internal_policy_of_alias(new);
        }
        if object::get_str(new, &["spec", "type"]) != Some("LoadBalancer") {
            object::remove(new, &["status", "loadBalancer"]);
        }
    }
}

fn has_cluster_ip(spec: &Object) -> bool {
    tree::text(spec, "type") != "ExternalName"
}

fn is_load_balancer(spec: &Object) -> bool {
    tree::text(spec, "type") == "LoadBalancer"
}

/// Whether the type may have node ports.
fn may_have_node_ports(spec: &Object) -> bool {
    matches!(tree::text(spec, "type"), "NodePort" | "LoadBalancer")
}

/// Whether the server allocates node ports; a load balancer may do without.
fn wants_node_ports(spec: &Object) -> bool {
    let allocates = spec.get("allocateLoadBalancerNodePorts").and_then(Value::as_bool);
    may_have_node_ports(spec) && (!is_load_balancer(spec) || allocates != Some(false))
}

fn has_health_check_port(spec: &Object) -> bool {
    is_load_balancer(spec) && tree::text(spec, "externalTrafficPolicy") == "Local"
}

/// Whether nodes or load balancers expose the service.
fn is_external(spec: &Object) -> bool {
    let addresses = !tree::list(spec, "externalIPs").is_empty();
    may_have_node_ports(spec) || (tree::text(spec, "type") == "ClusterIP" && addresses)
}

fn node_ports(spec: &Object) -> impl Iterator<Item = i64> {
    tree::children(spec, "ports").map(|port| tree::integer(port, "nodePort")).filter(|port| *port != 0)
}

fn same(new: &Object, old: &Object, name: &str) -> bool {
    new.get(name).filter(|v| !v.is_null()) == old.get(name).filter(|v| !v.is_null())
}

fn same_texts(new: &Object, old: &Object, name: &str) -> bool {
    tree::texts(new, name).eq(tree::texts(old, name))
}

fn copy(new: &mut Object, old: &Object, name: &str) {
    if let Some(value) = old.get(name) {
        new.insert(name.to_owned(), value.clone());
    }
}

/// Who sends the service as it was before the server allocated anything means the same allocations.
fn fill_in_allocated(new: &mut Object, old: &Object) {
    if has_cluster_ip(old) && has_cluster_ip(new) {
        if tree::text(new, "clusterIP").is_empty() {
            copy(new, old, "clusterIP");
        }
        if tree::list(new, "clusterIPs").is_empty() {
            copy(new, old, "clusterIPs");
        }
    }
    if wants_node_ports(old) && wants_node_ports(new) {
        fill_in_node_ports(new, old);
    }
    let unset = tree::integer(new, "healthCheckNodePort") == 0;
    if has_health_check_port(old) && has_health_check_port(new) && unset {
        copy(new, old, "healthCheckNodePort");
    }
}

/// Ports keep their node port by name, unless another port asks for it now.
fn fill_in_node_ports(new: &mut Object, old: &Object) {
    let asked: Vec<i64> = node_ports(new).collect();
    let taken: Vec<i64> = node_ports(old).filter(|port| asked.contains(port)).collect();
    for port in tree::children_mut(new, "ports") {
        if tree::integer(port, "nodePort") != 0 {
            continue;
        }
        let name = tree::text(port, "name");
        let before = tree::children(old, "ports").filter(|old| tree::text(old, "name") == name).last();
        let before = before.map_or(0, |old| tree::integer(old, "nodePort"));
        if before != 0 && !taken.contains(&before) {
            port.insert("nodePort".to_owned(), before.into());
        }
    }
}

/// Old clients know only `clusterIP`; `clusterIPs` follows them.
fn align_cluster_ips(new: &mut Object, old: &Object) {
    let (now, before) = (tree::text(new, "clusterIP"), tree::text(old, "clusterIP"));
    if now == before {
        if tree::list(new, "clusterIPs").is_empty() {
            copy(new, old, "clusterIPs");
        }
    } else if same_texts(new, old, "clusterIPs") {
        if now.is_empty() {
            new.remove("clusterIPs");
        } else {
            let all = vec![now.to_owned()];
            new.insert("clusterIPs".to_owned(), all.into());
        }
    }
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
        let known: Vec<i64> = node_ports(old).collect();
        if node_ports(new).all(|port| known.contains(&port)) {
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

/// An alias has no internal traffic policy. Upstream stores one that is valid and hides it from readers;
/// what is not stored needs no hiding.
fn drop_internal_policy_of_alias(spec: &mut Object) {
    let valid = matches!(tree::text(spec, "internalTrafficPolicy"), "Cluster" | "Local");
    if !has_cluster_ip(spec) && valid {
        spec.remove("internalTrafficPolicy");
    }
}

fn remove_if_same(new: &mut Object, old: &Object, name: &str) {
    if same(new, old, name) {
        new.remove(name);
    }
}
