//! Dependencies between the fields of services, and the fields that an update may omit (upstream's
//! `patchAllocatedValues` and `normalizeClusterIPs` in `service/storage/storage.go`). Pure.

use api::tree;
use apimachinery::field::BadValue;
use jsontree::Value;
use schema::object::Object;

/// True if the service has a cluster IP, even if only `None`; false only for ExternalName services.
pub fn has_cluster_ip(spec: &Object) -> bool {
    tree::text(spec, "type") != "ExternalName"
}

pub fn is_load_balancer(spec: &Object) -> bool {
    tree::text(spec, "type") == "LoadBalancer"
}

pub fn may_have_node_ports(spec: &Object) -> bool {
    matches!(tree::text(spec, "type"), "NodePort" | "LoadBalancer")
}

/// True if the server allocates node ports; a load balancer may disable that.
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

/// Fills in allocated values of `old` that `new` omits, and makes `clusterIP` and `clusterIPs` consistent.
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

/// Restores omitted allocations: a client that sends the original service wants to keep them.
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

/// Ports keep their node port by name, unless another port now requests it.
fn fill_in_node_ports(new: &mut Object, old: &Object) {
    let requested: Vec<i64> = node_ports(new).collect();
    let used: Vec<i64> = node_ports(old).filter(|port| requested.contains(port)).collect();
    for port in tree::children_mut(new, "ports") {
        if tree::integer(port, "nodePort") != 0 {
            continue;
        }
        let name = tree::text(port, "name");
        let before = tree::children(old, "ports").filter(|old| tree::text(old, "name") == name).last();
        let before = before.map_or(0, |old| tree::integer(old, "nodePort"));
        if before != 0 && !used.contains(&before) {
            port.insert("nodePort", before.into());
        }
    }
}

/// Updates `clusterIPs` from `clusterIP` for old clients, which only set the latter.
fn align_cluster_ips(new: &mut Object, old: &Object) {
    let now = tree::text(new, "clusterIP");
    let before = tree::text(old, "clusterIP");
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
