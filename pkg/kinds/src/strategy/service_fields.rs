//! What the fields of services mean to each other, and what an update leaves out of them (upstream's
//! `patchAllocatedValues` and `normalizeClusterIPs` in `service/storage/storage.go`). Pure.

use api::tree;
use apimachinery::field::BadValue;
use jsontree::Value;
use schema::object::Object;

/// Whether a service has an address, if only `None`: all have but aliases of external names.
pub fn has_cluster_ip(spec: &Object) -> bool {
    tree::text(spec, "type") != "ExternalName"
}

pub fn is_load_balancer(spec: &Object) -> bool {
    tree::text(spec, "type") == "LoadBalancer"
}

/// Whether the type may have node ports.
pub fn may_have_node_ports(spec: &Object) -> bool {
    matches!(tree::text(spec, "type"), "NodePort" | "LoadBalancer")
}

/// Whether the server allocates node ports; a load balancer may do without.
pub fn wants_node_ports(spec: &Object) -> bool {
    let allocates = spec.get("allocateLoadBalancerNodePorts").and_then(Value::as_bool);
    may_have_node_ports(spec) && (!is_load_balancer(spec) || allocates != Some(false))
}

pub fn has_health_check_port(spec: &Object) -> bool {
    is_load_balancer(spec) && tree::text(spec, "externalTrafficPolicy") == "Local"
}

pub fn node_ports(spec: &Object) -> impl Iterator<Item = i64> + use<'_> {
    tree::children(spec, "ports").map(|port| tree::integer(port, "nodePort")).filter(|port| *port != 0)
}

pub fn same_texts(new: &Object, old: &Object, name: &str) -> bool {
    tree::texts(new, name).eq(tree::texts(old, name))
}

/// Appends to a list of texts.
pub fn push(spec: &mut Object, name: &str, text: &str) {
    let list = spec.entry(name.to_owned()).or_insert(Value::Null);
    match list {
        Value::Array(list) => list.push(text.into()),
        list => *list = vec![text.to_owned()].into(),
    }
}

/// A list as the value of an error.
pub fn listed(spec: &Object, name: &str) -> BadValue {
    spec.get(name).unwrap_or(&Value::Null).into()
}

/// Fills in what `new` leaves out of what was allocated for `old`, and makes the older field for addresses
/// agree with the newer one.
pub fn complete(new: &mut Object, old: Option<&Object>) {
    let Some(spec) = tree::child_mut(new, "spec") else { return };
    match old.map(|old| tree::child(old, "spec")) {
        None => {
            let address = tree::text(spec, "clusterIP").to_owned();
            if !address.is_empty() && tree::list(spec, "clusterIPs").is_empty() {
                push(spec, "clusterIPs", &address);
            }
        }
        Some(None) => {}
        Some(Some(old)) => {
            fill_in_allocated(spec, old);
            align_cluster_ips(spec, old);
        }
    }
}

fn copy(new: &mut Object, old: &Object, name: &str) {
    if let Some(value) = old.get(name) {
        new.insert(name, value.clone());
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
            port.insert("nodePort", before.into());
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
            new.insert("clusterIPs", all.into());
        }
    }
}
