//! Rows of the core group; pods, volumes and events have their own files.

use super::Cell;
use super::column::{
    AGE, CONTAINERS, Column, IMAGES, NAME, integer, text, text_of_previous, text_of_several,
};
use super::format::{NONE, UNKNOWN, container_images, container_names, labels, or_none, quantity, with_more};
use super::view::View;
use apimachinery::time::UnixTime;
use std::collections::{BTreeMap, BTreeSet};

pub(super) static COMPONENT_STATUS: &[Column] = &[
    NAME,
    text("Status", |object, _| health(object).into()).described("Status of the component conditions"),
    text("Message", |object, _| healthy_condition(object).get("message").into())
        .described("Message of the component conditions"),
    text("Error", |object, _| healthy_condition(object).get("error").into())
        .described("Error of the component conditions"),
];

pub(super) static CONFIG_MAP: &[Column] = &[
    NAME,
    text("Data", |object, _| (object.get("data").len() + object.get("binaryData").len()).into())
        .described_as("io.k8s.api.core.v1.ConfigMap", "data"),
    AGE,
];

pub(super) static ENDPOINTS: &[Column] = &[
    NAME,
    text("Endpoints", |object, _| endpoints(object).into())
        .described_as("io.k8s.api.core.v1.Endpoints", "subsets"),
    AGE,
];

pub(super) static NAMESPACE: &[Column] = &[
    NAME,
    text("Status", |object, _| object.at("status.phase").into()).described("The status of the namespace"),
    AGE,
];

const NODE_SYSTEM_INFO: &str = "io.k8s.api.core.v1.NodeSystemInfo";

pub(super) static NODE: &[Column] = &[
    NAME,
    text("Status", |object, _| node_status(object).into()).described("The status of the node"),
    text("Roles", |object, _| or_none(node_roles(object)).into()).described("The roles of the node"),
    AGE,
    text_of_several("Version", system_info).described_as(NODE_SYSTEM_INFO, "kubeletVersion"),
    text_of_previous("Internal-IP").described_as("io.k8s.api.core.v1.NodeStatus", "addresses").wide(),
    text_of_previous("External-IP").described_as("io.k8s.api.core.v1.NodeStatus", "addresses").wide(),
    text_of_previous("OS-Image").described_as(NODE_SYSTEM_INFO, "osImage").wide(),
    text_of_previous("Kernel-Version").described_as(NODE_SYSTEM_INFO, "kernelVersion").wide(),
    text_of_previous("Container-Runtime").described_as(NODE_SYSTEM_INFO, "containerRuntimeVersion").wide(),
];

pub(super) static POD_TEMPLATE: &[Column] = &[
    NAME,
    text("Containers", |object, _| container_names(object.at("template.spec")))
        .described("Names of each container in the template."),
    text("Images", |object, _| container_images(object.at("template.spec")))
        .described("Images referenced by each container in the template."),
    text("Pod Labels", |object, _| labels(object.at("template.metadata.labels")).into())
        .described("The labels for the pod template."),
];

pub(super) static REPLICATION_CONTROLLER: &[Column] = &[
    NAME,
    integer("Desired", |object, _| object.at("spec.replicas").int().into())
        .described_as("io.k8s.api.core.v1.ReplicationControllerSpec", "replicas"),
    integer("Current", |object, _| object.at("status.replicas").int().into())
        .described_as("io.k8s.api.core.v1.ReplicationControllerStatus", "replicas"),
    integer("Ready", |object, _| object.at("status.readyReplicas").int().into())
        .described_as("io.k8s.api.core.v1.ReplicationControllerStatus", "readyReplicas"),
    AGE,
    CONTAINERS,
    IMAGES,
    text("Selector", |object, _| labels(object.at("spec.selector")).into())
        .described_as("io.k8s.api.core.v1.ReplicationControllerSpec", "selector")
        .wide(),
];

pub(super) static RESOURCE_QUOTA: &[Column] = &[
    NAME,
    text_of_several("Request", quota_usage).described("Request represents a minimum amount of cpu/memory that a container may consume."),
    text_of_previous("Limit").described("Limits control the maximum amount of cpu/memory that a container may use independent of contention on the node."),
    AGE,
];

pub(super) static SECRET: &[Column] = &[
    NAME,
    text("Type", |object, _| object.get("type").into()).described_as("io.k8s.api.core.v1.Secret", "type"),
    text("Data", |object, _| object.get("data").count()).described_as("io.k8s.api.core.v1.Secret", "data"),
    AGE,
];

pub(super) static SERVICE: &[Column] = &[
    NAME,
    text("Type", |object, _| object.at("spec.type").into())
        .described_as("io.k8s.api.core.v1.ServiceSpec", "type"),
    text("Cluster-IP", |object, _| cluster_ip(object).into())
        .described_as("io.k8s.api.core.v1.ServiceSpec", "clusterIP"),
    text("External-IP", |object, _| external_ip(object).into())
        .described_as("io.k8s.api.core.v1.ServiceSpec", "externalIPs"),
    text("Port(s)", |object, _| or_none(ports(object.get("spec"))).into())
        .described_as("io.k8s.api.core.v1.ServiceSpec", "ports"),
    AGE,
    text("Selector", |object, _| labels(object.at("spec.selector")).into())
        .described_as("io.k8s.api.core.v1.ServiceSpec", "selector")
        .wide(),
];

fn healthy_condition<'a>(status: View<'a>) -> View<'a> {
    status.get("conditions").condition("Healthy").unwrap_or_default()
}

fn health(status: View<'_>) -> &'static str {
    match status.get("conditions").condition("Healthy").map(|condition| condition.get("status").text()) {
        Some("True") => "Healthy",
        Some(_) => "Unhealthy",
        None => "Unknown",
    }
}

/// Prints up to three `address:port`, or addresses without ports. Every address is combined with every port,
/// which can be too many combinations to generate all.
fn endpoints(object: View<'_>) -> String {
    const SHOWN_MAX: usize = 3;
    let subsets = object.get("subsets");
    let (mut shown, mut count) = (Vec::new(), 0_usize);
    for subset in subsets.items() {
        let (addresses, ports) = (subset.get("addresses"), subset.get("ports"));
        count = count.saturating_add(addresses.len().saturating_mul(ports.len().max(1)));
        let ips = || addresses.items().map(|address| address.get("ip").text());
        let bare = ips().filter(|_| ports.is_empty()).map(str::to_owned);
        let paired = ports.items().take(SHOWN_MAX).flat_map(|port| {
            let number = port.get("port").int();
            ips().map(move |ip| host_port(ip, number))
        });
        shown.extend(bare.chain(paired).take(SHOWN_MAX - shown.len()));
    }
    if subsets.is_empty() { NONE.to_owned() } else { with_more(&shown, count, ",") }
}

/// The columns from Version on share one lookup of `nodeInfo`.
fn system_info<'a>(node: View<'a>, _: UnixTime, cells: &mut Vec<Cell<'a>>) {
    let info = node.at("status.nodeInfo");
    cells.extend([
        info.get("kubeletVersion").into(),
        node_address(node, "InternalIP").into(),
        node_address(node, "ExternalIP").into(),
        info.get("osImage").non_empty_or(UNKNOWN).into(),
        kernel(info).into(),
        info.get("containerRuntimeVersion").non_empty_or(UNKNOWN).into(),
    ]);
}

fn kernel(info: View<'_>) -> String {
    let version = info.get("kernelVersion").non_empty_or(UNKNOWN);
    match info.get("architecture").text() {
        "" => version.to_owned(),
        architecture => format!("{version} ({architecture})"),
    }
}

/// Prints `used/hard` of every resource. Resources named `limits.…` have their own column.
fn quota_usage<'a>(quota: View<'a>, _: UnixTime, cells: &mut Vec<Cell<'a>>) {
    let (mut requests, mut limits) = (Vec::new(), Vec::new());
    let used: BTreeMap<&str, View<'_>> = quota.at("status.used").entries().collect();
    for (resource, hard) in quota.at("status.hard").entries() {
        let text = format!(
            "{resource}: {}/{}",
            quantity(used.get(resource).copied().unwrap_or_default()),
            quantity(hard)
        );
        if resource.starts_with("limits.") { limits.push(text) } else { requests.push(text) }
    }
    cells.extend([requests.join(", ").into(), limits.join(", ").into()]);
}

fn cluster_ip<'a>(service: View<'a>) -> &'a str {
    service.at("spec.clusterIPs").items().next().map_or(NONE, View::text)
}

fn host_port(host: &str, port: i64) -> String {
    if host.contains([':', '%']) { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

/// Returns the last `Ready` condition, and whether pods may be scheduled.
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

/// Returns the roles, which are in label keys after `node-role.kubernetes.io/`, or in the value of
/// `kubernetes.io/role`.
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

/// Returns the addresses of a load balancer, or the host name where an address is missing.
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
