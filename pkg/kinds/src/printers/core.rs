//! Rows of the core group; pods, volumes and events have their own files.

use super::format::{NONE, UNKNOWN, age, containers, labels, or_none, quantity, with_more};
use super::view::View;
use super::{Cell, Cells, autoscaling, events, pod, volumes};
use apimachinery::time::UnixTime;
use std::collections::{BTreeMap, BTreeSet};

pub(super) fn printer(resource: &str) -> Option<Cells> {
    Some(match resource {
        "componentstatuses" => component_status,
        "configmaps" => config_map,
        "endpoints" => endpoints,
        "events" => events::core_event,
        "namespaces" => namespace,
        "nodes" => node,
        "persistentvolumeclaims" => volumes::persistent_volume_claim,
        "persistentvolumes" => volumes::persistent_volume,
        "pods" => pod::pod,
        "podtemplates" => pod_template,
        "replicationcontrollers" => replication_controller,
        "resourcequotas" => resource_quota,
        "scale" => autoscaling::scale,
        "secrets" => secret,
        "serviceaccounts" => service_account,
        "services" => service,
        _ => return None,
    })
}

fn component_status(object: View<'_>, _: UnixTime) -> Vec<Cell<'_>> {
    let Some(condition) = object.get("conditions").condition("Healthy") else {
        return vec![object.name(), "Unknown".into(), "".into(), "".into()];
    };
    let healthy = condition.get("status").text() == "True";
    vec![
        object.name(),
        if healthy { "Healthy" } else { "Unhealthy" }.into(),
        condition.get("message").into(),
        condition.get("error").into(),
    ]
}

fn config_map(object: View<'_>, now: UnixTime) -> Vec<Cell<'_>> {
    let keys = object.get("data").len() + object.get("binaryData").len();
    vec![object.name(), keys.into(), age(object, now)]
}

/// Up to three `address:port`, or addresses where there are no ports. Each address goes with each port,
/// which can be too many to make them all.
fn endpoints(object: View<'_>, now: UnixTime) -> Vec<Cell<'_>> {
    const SHOWN_MAX: usize = 3;
    let subsets = object.get("subsets");
    let (mut shown, mut count) = (Vec::new(), 0_usize);
    for subset in subsets.items() {
        let (addresses, ports) = (subset.get("addresses"), subset.get("ports"));
        count = count.saturating_add(addresses.len().saturating_mul(ports.len().max(1)));
        let ips = || addresses.items().map(|address| address.get("ip").text());
        let bare = ips().filter(|_| ports.len() == 0).map(str::to_owned);
        let paired = ports.items().take(SHOWN_MAX).flat_map(|port| {
            let number = port.get("port").int();
            ips().map(move |ip| host_port(ip, number))
        });
        shown.extend(bare.chain(paired).take(SHOWN_MAX - shown.len()));
    }
    let text = if subsets.len() == 0 { NONE.to_owned() } else { with_more(&shown, count, ",") };
    vec![object.name(), text.into(), age(object, now)]
}

fn host_port(host: &str, port: i64) -> String {
    if host.contains([':', '%']) { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

fn namespace(object: View<'_>, now: UnixTime) -> Vec<Cell<'_>> {
    vec![object.name(), object.at("status.phase").into(), age(object, now)]
}

fn node(object: View<'_>, now: UnixTime) -> Vec<Cell<'_>> {
    let info = object.at("status.nodeInfo");
    let architecture = info.get("architecture").text();
    let mut kernel = info.get("kernelVersion").filled_or(UNKNOWN).to_owned();
    if !architecture.is_empty() {
        kernel.push_str(&format!(" ({architecture})"));
    }
    vec![
        object.name(),
        node_status(object).into(),
        or_none(node_roles(object)).into(),
        age(object, now),
        info.get("kubeletVersion").into(),
        node_address(object, "InternalIP").into(),
        node_address(object, "ExternalIP").into(),
        info.get("osImage").filled_or(UNKNOWN).into(),
        kernel.into(),
        info.get("containerRuntimeVersion").filled_or(UNKNOWN).into(),
    ]
}

/// The last `Ready` condition, and whether pods may be scheduled.
fn node_status(node: View<'_>) -> String {
    let ready = node.at("status.conditions").items().filter(|c| c.get("type").text() == "Ready").last();
    let status = match ready.map(|condition| condition.get("status").text()) {
        Some("True") => "Ready",
        Some(_) => "NotReady",
        None => "Unknown",
    };
    let suffix = if node.at("spec.unschedulable").flag() { ",SchedulingDisabled" } else { "" };
    format!("{status}{suffix}")
}

/// Roles stand in label keys after `node-role.kubernetes.io/`, or in the value
/// of `kubernetes.io/role`.
fn node_roles(node: View<'_>) -> String {
    let role = |(key, value): (&'_ str, View<'_>)| match key.strip_prefix("node-role.kubernetes.io/") {
        Some(role) => role.to_owned(),
        None if key == "kubernetes.io/role" => value.text().to_owned(),
        None => String::new(),
    };
    let roles: BTreeSet<String> = node.at("metadata.labels").entries().map(role).collect();
    let roles: Vec<String> = roles.into_iter().filter(|role| !role.is_empty()).collect();
    roles.join(",")
}

fn node_address<'a>(node: View<'a>, address_type: &str) -> &'a str {
    let address = node.at("status.addresses").condition(address_type);
    address.map_or(NONE, |address| address.get("address").text())
}

fn pod_template(object: View<'_>, _: UnixTime) -> Vec<Cell<'_>> {
    let [names, images] = containers(object.at("template.spec"));
    vec![object.name(), names, images, labels(object.at("template.metadata.labels")).into()]
}

fn replication_controller(object: View<'_>, now: UnixTime) -> Vec<Cell<'_>> {
    let [names, images] = containers(object.at("spec.template.spec"));
    vec![
        object.name(),
        object.at("spec.replicas").int().into(),
        object.at("status.replicas").int().into(),
        object.at("status.readyReplicas").int().into(),
        age(object, now),
        names,
        images,
        labels(object.at("spec.selector")).into(),
    ]
}

/// `used/hard` of every resource; those named `limits.…` in a column of their own.
fn resource_quota(object: View<'_>, now: UnixTime) -> Vec<Cell<'_>> {
    let (mut requests, mut limits) = (Vec::new(), Vec::new());
    let used: BTreeMap<&str, View<'_>> = object.at("status.used").entries().collect();
    for (resource, hard) in object.at("status.hard").entries() {
        let text = format!(
            "{resource}: {}/{}",
            quantity(used.get(resource).copied().unwrap_or_default()),
            quantity(hard)
        );
        if resource.starts_with("limits.") { limits.push(text) } else { requests.push(text) }
    }
    vec![object.name(), requests.join(", ").into(), limits.join(", ").into(), age(object, now)]
}

fn secret(object: View<'_>, now: UnixTime) -> Vec<Cell<'_>> {
    vec![object.name(), object.get("type").into(), object.get("data").count(), age(object, now)]
}

fn service_account(object: View<'_>, now: UnixTime) -> Vec<Cell<'_>> {
    vec![object.name(), age(object, now)]
}

fn service(object: View<'_>, now: UnixTime) -> Vec<Cell<'_>> {
    let spec = object.get("spec");
    let cluster_ip = spec.get("clusterIPs").items().next().map_or(NONE, View::text);
    vec![
        object.name(),
        spec.get("type").into(),
        cluster_ip.into(),
        external_ip(object).into(),
        or_none(ports(spec)).into(),
        age(object, now),
        labels(spec.get("selector")).into(),
    ]
}

fn external_ip(service: View<'_>) -> String {
    let spec = service.get("spec");
    let external_ips = spec.get("externalIPs").texts();
    match spec.get("type").text() {
        "ClusterIP" | "NodePort" if external_ips.is_empty() => NONE.to_owned(),
        "ClusterIP" | "NodePort" => external_ips.join(","),
        "LoadBalancer" => {
            let balancer = load_balancer(service.at("status.loadBalancer"));
            let balancer = Some(balancer.as_str()).filter(|addresses| !addresses.is_empty());
            let all: Vec<&str> = balancer.into_iter().chain(external_ips).collect();
            if all.is_empty() { "<pending>".to_owned() } else { all.join(",") }
        }
        "ExternalName" => spec.get("externalName").text().to_owned(),
        _ => UNKNOWN.to_owned(),
    }
}

/// The addresses of a load balancer, or host names where it has no address.
pub(super) fn load_balancer(status: View<'_>) -> String {
    let address = |ingress: View<'_>| match ingress.get("ip").text() {
        "" => ingress.get("hostname").text().to_owned(),
        ip => ip.to_owned(),
    };
    let addresses: BTreeSet<String> = status.get("ingress").items().map(address).collect();
    let addresses: Vec<String> = addresses.into_iter().filter(|a| !a.is_empty()).collect();
    addresses.join(",")
}

fn ports(spec: View<'_>) -> String {
    let port = |port: View<'_>| {
        let (number, protocol) = (port.get("port").int(), port.get("protocol").text());
        match port.get("nodePort").int() {
            node_port if node_port > 0 => format!("{number}:{node_port}/{protocol}"),
            _ => format!("{number}/{protocol}"),
        }
    };
    let ports: Vec<String> = spec.get("ports").items().map(port).collect();
    ports.join(",")
}
