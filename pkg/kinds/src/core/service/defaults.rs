//! Defaults: traffic policies, affinity, ports.

use crate::defaults::fill::{default_struct, each, if_nil, if_present, if_zero, integer, is_zero, text};
use crate::defaults::object::Object;
use jsontree::json;

/// Default timeout of session affinity in seconds: three hours.
const AFFINITY_SECONDS: i64 = 10_800;

pub(super) fn service(service: &mut Object) {
    default_struct(service, "spec", spec);
    let balanced = service.text_at(&["spec", "type"]) == "LoadBalancer";
    if balanced {
        if_present(service, "status", |status| {
            if_present(status, "loadBalancer", |balancer| each(balancer, "ingress", ip_mode));
        });
    }
}

fn spec(spec: &mut Object) {
    session_affinity(spec);
    if_zero(spec, "type", "ClusterIP");
    each(spec, "ports", port);
    let kind = text(spec, "type");
    let balanced = kind == "LoadBalancer";
    let exposed = balanced || kind == "NodePort" || (kind == "ClusterIP" && !is_zero(spec, "externalIPs"));
    let proxied = balanced || matches!(kind, "NodePort" | "ClusterIP");
    if exposed {
        if_zero(spec, "externalTrafficPolicy", "Cluster");
    }
    if proxied {
        if_nil(spec, "internalTrafficPolicy", "Cluster");
    }
    if balanced {
        if_nil(spec, "allocateLoadBalancerNodePorts", true);
    }
}

/// Without affinity, its configuration is dropped; with affinity, an incomplete one is replaced.
fn session_affinity(spec: &mut Object) {
    if_zero(spec, "sessionAffinity", "None");
    match text(spec, "sessionAffinity") {
        "None" => spec.remove("sessionAffinityConfig"),
        "ClientIP" if spec.is_nil_at(&["sessionAffinityConfig", "clientIP", "timeoutSeconds"]) => {
            spec.set("sessionAffinityConfig", json!({"clientIP": {"timeoutSeconds": AFFINITY_SECONDS}}));
        }
        _ => {}
    }
}

fn port(port: &mut Object) {
    if_zero(port, "protocol", "TCP");
    let number = integer(port, "port");
    if number != 0 {
        if_zero(port, "targetPort", number);
    }
}

fn ip_mode(ingress: &mut Object) {
    if !text(ingress, "ip").is_empty() {
        if_nil(ingress, "ipMode", "VIP");
    }
}
