//! Rows of ingresses, network policies and addresses.

use super::column::{AGE, Column, NAME, text};
use super::core::load_balancer;
use super::format::{NONE, group_resource, label_selector, name_of_class};
use super::view::View;

pub(super) static INGRESS_CLASS: &[Column] = &[
    NAME.filled_by(|object, _| name_of_class(object, &["ingressclass.kubernetes.io/is-default-class"])),
    text("Controller", |object, _| object.at("spec.controller").into())
        .described("Controller that is responsible for handling this class"),
    text("Parameters", |object, _| parameters(object.at("spec.parameters")).into())
        .described("A reference to a resource with additional parameters"),
    AGE,
];

pub(super) static INGRESS: &[Column] = &[
    NAME,
    text("Class", |object, _| object.at("spec.ingressClassName").text_or(NONE).into())
        .described("The name of the IngressClass resource that should be used for additional configuration"),
    text("Hosts", |object, _| hosts(object.at("spec.rules")).into())
        .described("Hosts that incoming requests are matched against before the ingress rule"),
    text("Address", |object, _| load_balancer(object.at("status.loadBalancer")).into())
        .described("Address is a list containing ingress points for the load-balancer"),
    text("Ports", |object, _| if object.at("spec.tls").is_empty() { "80" } else { "80, 443" }.into())
        .described("Ports of TLS configurations that open"),
    AGE,
];

pub(super) static IP_ADDRESS: &[Column] = &[
    NAME,
    text("ParentRef", |object, _| parent(object.at("spec.parentRef")).into())
        .described_as("io.k8s.api.networking.v1.IPAddressSpec", "parentRef"),
    // Upstream prints the age and declares no column for it.
    AGE.undeclared(),
];

pub(super) static NETWORK_POLICY: &[Column] = &[
    NAME,
    text("Pod-Selector", |object, _| label_selector(object.at("spec.podSelector")).into())
        .described_as("io.k8s.api.networking.v1.NetworkPolicySpec", "podSelector"),
    AGE,
];

pub(super) static SERVICE_CIDR: &[Column] = &[
    NAME,
    text("CIDRs", |object, _| object.at("spec.cidrs").texts().join(",").into())
        .described_as("io.k8s.api.networking.v1.ServiceCIDRSpec", "cidrs"),
    AGE,
];

fn parameters(parameters: View<'_>) -> String {
    if !parameters.exists() {
        return NONE.to_owned();
    }
    let (kind, name) = (parameters.get("kind").text(), parameters.get("name").text());
    let group = parameters.get("apiGroup");
    let dot = if group.exists() { "." } else { "" };
    format!("{kind}{dot}{}/{name}", group.text())
}

/// Returns up to three hosts. After three hosts, every further rule counts as one more, also one without a
/// host.
fn hosts(rules: View<'_>) -> String {
    const SHOWN_MAX: usize = 3;
    let mut hosts = Vec::new();
    let mut more = false;
    for host in rules.items().map(|rule| rule.get("host").text()) {
        more |= hosts.len() == SHOWN_MAX;
        if !more && !host.is_empty() {
            hosts.push(host);
        }
    }
    match (hosts.is_empty(), more) {
        (true, _) => "*".to_owned(),
        (false, false) => hosts.join(","),
        (false, true) => format!("{} + {} more...", hosts.join(","), rules.len() - SHOWN_MAX),
    }
}

/// `resource.group/namespace/name`
fn parent(parent: View<'_>) -> String {
    if !parent.exists() {
        return NONE.to_owned();
    }
    let resource = group_resource(parent.get("group").text(), parent.get("resource").text());
    let name = parent.get("name").text();
    match parent.get("namespace").text() {
        "" => format!("{}/{name}", resource.to_lowercase()),
        namespace => format!("{}/{namespace}/{name}", resource.to_lowercase()),
    }
}
