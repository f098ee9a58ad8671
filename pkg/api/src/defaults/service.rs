//! Services: traffic policies, affinity, ports.

use super::fill::{behind, each, if_nil, if_zero, is_zero, within};
use crate::tree::{integer, text};
use schema::object::{Object, get};
use serde_json::{Value, json};

/// How long a client sticks to one endpoint, in seconds: three hours.
const AFFINITY_SECONDS: i64 = 10_800;

/// The defaults of a service.
pub(super) fn service(service: &mut Object) {
    within(service, "spec", spec);
    let balanced = get(service, &["spec", "type"]).and_then(Value::as_str) == Some("LoadBalancer");
    if balanced {
        behind(service, "status", |status| {
            behind(status, "loadBalancer", |balancer| each(balancer, "ingress", ip_mode));
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

/// Without affinity its configuration is dropped; with affinity an incomplete one is replaced.
fn session_affinity(spec: &mut Object) {
    if_zero(spec, "sessionAffinity", "None");
    match text(spec, "sessionAffinity") {
        "None" => _ = spec.remove("sessionAffinityConfig"),
        "ClientIP" => {
            let seconds = get(spec, &["sessionAffinityConfig", "clientIP", "timeoutSeconds"]);
            if seconds.is_none_or(Value::is_null) {
                let config = json!({"clientIP": {"timeoutSeconds": AFFINITY_SECONDS}});
                spec.insert("sessionAffinityConfig".to_owned(), config);
            }
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
