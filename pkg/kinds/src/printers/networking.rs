//! Rows of ingresses, network policies and addresses.

use super::core::load_balancer;
use super::format::{NONE, age, group_resource, label_selector};
use super::view::View;
use super::{Cell, Cells};
use apimachinery::time::UnixTime;

pub(super) fn printer(resource: &str) -> Option<Cells> {
    Some(match resource {
        "ingressclasses" => ingress_class,
        "ingresses" => ingress,
        "ipaddresses" => ip_address,
        "networkpolicies" => network_policy,
        "servicecidrs" => service_cidr,
        _ => return None,
    })
}

fn ingress_class(object: View<'_>, now: UnixTime) -> Vec<Cell<'_>> {
    let is_default = object.at("metadata.annotations").get("ingressclass.kubernetes.io/is-default-class");
    let suffix = if is_default.text() == "true" { " (default)" } else { "" };
    vec![
        format!("{}{suffix}", object.at("metadata.name").text()).into(),
        object.at("spec.controller").into(),
        parameters(object.at("spec.parameters")).into(),
        age(object, now),
    ]
}

fn parameters(parameters: View<'_>) -> String {
    if !parameters.exists() {
        return NONE.to_owned();
    }
    let (kind, name) = (parameters.get("kind").text(), parameters.get("name").text());
    let group = parameters.get("apiGroup");
    let dot = if group.exists() { "." } else { "" };
    format!("{kind}{dot}{}/{name}", group.text())
}

fn ingress(object: View<'_>, now: UnixTime) -> Vec<Cell<'_>> {
    let spec = object.get("spec");
    vec![
        object.name(),
        spec.get("ingressClassName").text_or(NONE).into(),
        hosts(spec.get("rules")).into(),
        load_balancer(object.at("status.loadBalancer")).into(),
        if spec.get("tls").len() == 0 { "80" } else { "80, 443" }.into(),
        age(object, now),
    ]
}

/// Up to three hosts. Once there are three, any further rule counts as one
/// more, also one without a host.
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

fn ip_address(object: View<'_>, now: UnixTime) -> Vec<Cell<'_>> {
    vec![object.name(), parent(object.at("spec.parentRef")).into(), age(object, now)]
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

fn network_policy(object: View<'_>, now: UnixTime) -> Vec<Cell<'_>> {
    vec![object.name(), label_selector(object.at("spec.podSelector")).into(), age(object, now)]
}

fn service_cidr(object: View<'_>, now: UnixTime) -> Vec<Cell<'_>> {
    vec![object.name(), object.at("spec.cidrs").texts().join(",").into(), age(object, now)]
}
