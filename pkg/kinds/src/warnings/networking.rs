//! Warnings about services, their endpoints, ingresses and network policies: address spellings, and ignored
//! or deprecated fields (`pkg/api/service/warnings.go`, `pkg/registry/{core,discovery,networking}`).

use super::collector::Warnings;
use super::ip;
use crate::warnings::common::annotation;
use api::tree::{child, children, list, text, texts};
use apimachinery::field::Path;
use apimachinery::go_quote::Quoted;
use jsontree::Value;
use schema::object::{Object, get_list, get_object, get_str};

const TOPOLOGY_HINTS: &str = "service.kubernetes.io/topology-aware-hints";
const INGRESS_CLASS: &str = "kubernetes.io/ingress.class";

/// Label with the controller of an object; controllers write addresses in canonical form.
const ENDPOINTS_MANAGED_BY: &str = "endpoints.kubernetes.io/managed-by";
const SLICE_MANAGED_BY: &str = "endpointslice.kubernetes.io/managed-by";

pub(crate) fn service(service: &Object, out: &mut Warnings) {
    if annotation(service, TOPOLOGY_HINTS).is_some() {
        out.add(format_args!(
            "annotation {TOPOLOGY_HINTS} is deprecated, please use service.kubernetes.io/topology-mode instead"
        ));
    }
    let Some(spec) = child(service, "spec") else { return };
    let path = Path::root("spec");
    let kind = text(spec, "type");
    let cluster_ip = text(spec, "clusterIP");
    let headless = kind == "ClusterIP" && cluster_ip == "None";
    let has_external_ips = !list(spec, "externalIPs").is_empty();
    if !matches!(cluster_ip, "" | "None") {
        addresses(&path.child("clusterIPs"), spec, "clusterIPs", out);
    }
    if headless {
        ignored_when_headless(spec, out);
    }
    addresses(&path.child("externalIPs"), spec, "externalIPs", out);
    if has_external_ips && !headless && kind != "ExternalName" {
        out.add(format_args!(
            "spec.externalIPs is deprecated and may no longer be implemented in some clusters"
        ));
    }
    ip::address(&path.child("loadBalancerIP"), text(spec, "loadBalancerIP"), out);
    let ranges = path.child("loadBalancerSourceRanges");
    for (index, range) in texts(spec, "loadBalancerSourceRanges").enumerate() {
        ip::range(&ranges.index(index), range, out);
    }
    if kind == "ExternalName" && has_external_ips {
        out.add(format_args!("spec.externalIPs is ignored when spec.type is \"ExternalName\""));
    }
    if kind != "ExternalName" && !text(spec, "externalName").is_empty() {
        out.add(format_args!("spec.externalName is ignored when spec.type is not \"ExternalName\""));
    }
    if text(spec, "trafficDistribution") == "PreferClose" {
        out.add(format_args!(
            "spec.trafficDistribution: \"PreferClose\" is deprecated; use \"PreferSameZone\""
        ));
    }
}

fn ignored_when_headless(spec: &Object, out: &mut Warnings) {
    for (is_set, member) in [
        (!text(spec, "loadBalancerIP").is_empty(), "loadBalancerIP"),
        (!list(spec, "externalIPs").is_empty(), "externalIPs"),
        (text(spec, "sessionAffinity") != "None", "SessionAffinity"),
    ] {
        if is_set {
            out.add(format_args!("spec.{member} is ignored for headless services"));
        }
    }
}

/// Warns about the status of a `Service` or an `Ingress`.
pub(crate) fn load_balancer_status(object: &Object, out: &mut Warnings) {
    let path = Path::root("status.loadBalancer.ingress");
    let ingress = get_list(object, &["status", "loadBalancer", "ingress"]);
    for (index, ingress) in ingress.iter().enumerate() {
        let ip = ingress.get("ip").and_then(Value::as_str);
        ip::address(&path.index(index), ip.unwrap_or_default(), out);
    }
}

pub(crate) fn pod_status(pod: &Object, out: &mut Warnings) {
    let Some(status) = child(pod, "status") else { return };
    let path = Path::root("status");
    for member in ["podIPs", "hostIPs"] {
        let path = path.child(member);
        addresses_of(&path, status, member, out);
    }
}

pub(crate) fn endpoints(endpoints: &Object, out: &mut Warnings) {
    if managed_by(endpoints, ENDPOINTS_MANAGED_BY) == Some("endpoint-controller") {
        return;
    }
    let path = Path::root("subsets");
    for (index, subset) in children(endpoints, "subsets").enumerate() {
        let path = path.index(index);
        for member in ["addresses", "notReadyAddresses"] {
            addresses_of(&path.child(member), subset, member, out);
        }
    }
}

/// Warns about the address type of an `EndpointSlice`. The path is upstream's.
pub(crate) fn address_type(slice: &Object, out: &mut Warnings) {
    if text(slice, "addressType") == "FQDN" {
        out.add(format_args!("spec.addressType: FQDN endpoints are deprecated"));
    }
}

pub(crate) fn new_endpoint_slice(slice: &Object, out: &mut Warnings) {
    address_type(slice, out);
    endpoint_slice(slice, out);
}

/// Warns about the addresses of an `EndpointSlice`.
pub(crate) fn endpoint_slice(slice: &Object, out: &mut Warnings) {
    if matches!(
        managed_by(slice, SLICE_MANAGED_BY),
        Some("endpointslice-controller.k8s.io" | "endpointslicemirroring-controller.k8s.io")
    ) {
        return;
    }
    let path = Path::root("endpoints");
    for (index, endpoint) in children(slice, "endpoints").enumerate() {
        addresses(&path.index(index).child("addresses"), endpoint, "addresses", out);
    }
}

/// Warns about a created `Ingress`.
pub(crate) fn ingress(ingress: &Object, out: &mut Warnings) {
    let class = get_str(ingress, &["spec", "ingressClassName"]);
    if annotation(ingress, INGRESS_CLASS).is_some() && class.is_none() {
        out.add(format_args!(
            "annotation {} is deprecated, please use 'spec.ingressClassName' instead",
            Quoted(INGRESS_CLASS)
        ));
    }
}

pub(crate) fn network_policy(policy: &Object, out: &mut Warnings) {
    let Some(spec) = child(policy, "spec") else { return };
    for (direction, peers, root) in [("ingress", "from", "spec.ingress"), ("egress", "to", "spec.egress")] {
        let root = Path::root(root);
        // A rule that matches everything is empty, and may be `null` in the tree.
        for (index, rule) in list(spec, direction).iter().enumerate() {
            let Some(rule) = rule.as_object() else { continue };
            let path = root.index(index);
            let path = path.child(peers);
            for (index, peer) in children(rule, peers).enumerate() {
                let Some(block) = child(peer, "ipBlock") else { continue };
                let path = path.index(index);
                ip_block(&path.child("ipBlock"), block, out);
            }
        }
    }
}

fn ip_block(path: &Path<'_>, block: &Object, out: &mut Warnings) {
    ip::range(&path.child("cidr"), text(block, "cidr"), out);
    let path = path.child("except");
    for (index, range) in texts(block, "except").enumerate() {
        ip::range(&path.index(index), range, out);
    }
}

/// Warns about a list of addresses.
fn addresses(path: &Path<'_>, object: &Object, member: &str, out: &mut Warnings) {
    for (index, address) in texts(object, member).enumerate() {
        ip::address(&path.index(index), address, out);
    }
}

/// Warns about a list of objects with an address each.
fn addresses_of(path: &Path<'_>, object: &Object, member: &str, out: &mut Warnings) {
    for (index, holder) in children(object, member).enumerate() {
        ip::address(&path.index(index).child("ip"), text(holder, "ip"), out);
    }
}

fn managed_by<'o>(object: &'o Object, label: &str) -> Option<&'o str> {
    get_object(object, &["metadata", "labels"])?.get(label)?.as_str()
}

#[cfg(test)]
mod tests {
    use crate::warnings::testing::{created, status_updated, updated};
    use jsontree::{Value, json};

    const ZEROS: &str = "non-standard IP address \"01.2.3.4\" is invalid: use \"1.2.3.4\"";

    fn service(spec: Value, expected: &[&str]) {
        let service = json!({"spec": spec});
        created("", "services", service.clone(), expected);
        updated("", "services", service.clone(), service, expected);
    }

    #[test]
    fn deprecated_service_fields_warn() {
        let usual = json!({"type": "ClusterIP", "clusterIP": "1.2.3.4", "clusterIPs": ["1.2.3.4"], "sessionAffinity": "None"});
        service(usual, &[]);
        let deprecated = "spec.externalIPs is deprecated and may no longer be implemented in some clusters";
        service(json!({"type": "NodePort", "externalIPs": ["1.2.3.4"]}), &[deprecated]);
        service(
            json!({"type": "ClusterIP", "trafficDistribution": "PreferClose"}),
            &["spec.trafficDistribution: \"PreferClose\" is deprecated; use \"PreferSameZone\""],
        );
        let annotations = json!({"service.kubernetes.io/topology-aware-hints": "auto"});
        created(
            "",
            "services",
            json!({"metadata": {"annotations": annotations}}),
            &["annotation service.kubernetes.io/topology-aware-hints is deprecated, please use \
               service.kubernetes.io/topology-mode instead"],
        );
    }

    #[test]
    fn ignored_service_fields_warn() {
        service(
            json!({
                "type": "ClusterIP", "clusterIP": "None", "clusterIPs": ["None"], "loadBalancerIP": "1.2.3.4",
                "externalIPs": ["1.2.3.4"], "sessionAffinity": "ClientIP", "externalName": "x",
            }),
            &[
                "spec.loadBalancerIP is ignored for headless services",
                "spec.externalIPs is ignored for headless services",
                "spec.SessionAffinity is ignored for headless services",
                "spec.externalName is ignored when spec.type is not \"ExternalName\"",
            ],
        );
        service(
            json!({"type": "ExternalName", "externalName": "x", "externalIPs": ["1.2.3.4"]}),
            &["spec.externalIPs is ignored when spec.type is \"ExternalName\""],
        );
    }

    #[test]
    fn services_have_addresses() {
        service(
            json!({
                "type": "LoadBalancer", "clusterIP": "01.2.3.4", "clusterIPs": ["01.2.3.4"],
                "externalIPs": ["01.2.3.4"], "loadBalancerIP": "01.2.3.4",
                "loadBalancerSourceRanges": ["1.0.0.0/8", "01.0.0.0/8"],
            }),
            &[
                &format!("spec.clusterIPs[0]: {ZEROS}"),
                &format!("spec.externalIPs[0]: {ZEROS}"),
                "spec.externalIPs is deprecated and may no longer be implemented in some clusters",
                &format!("spec.loadBalancerIP: {ZEROS}"),
                "spec.loadBalancerSourceRanges[1]: non-standard CIDR value \"01.0.0.0/8\" is invalid: use \
                 \"1.0.0.0/8\"",
            ],
        );
    }

    #[test]
    fn statuses_have_addresses() {
        let ingress = json!([null, {"ip": "01.2.3.4"}]);
        let balanced = json!({"status": {"loadBalancer": {"ingress": ingress}}});
        let expected = format!("status.loadBalancer.ingress[1]: {ZEROS}");
        status_updated("", "services", balanced.clone(), &[&expected]);
        status_updated("networking.k8s.io", "ingresses", balanced, &[&expected]);
        let pod = json!({"status": {"podIPs": [{"ip": "01.2.3.4"}], "hostIPs": [{"ip": "01.2.3.4"}]}});
        let expected = [format!("status.podIPs[0].ip: {ZEROS}"), format!("status.hostIPs[0].ip: {ZEROS}")];
        status_updated("", "pods", pod.clone(), &[&expected[0], &expected[1]]);
        updated("", "pods", pod.clone(), pod, &[]);
    }

    #[test]
    fn controller_managed_endpoints_do_not_warn() {
        let object = |labels: Value| {
            json!({
                "metadata": {"labels": labels},
                "subsets": [{"addresses": [{"ip": "01.2.3.4"}], "notReadyAddresses": [{"ip": "01.2.3.4"}]}],
                "endpoints": [{"addresses": ["1.2.3.4", "01.2.3.4"]}],
            })
        };
        let ready = format!("subsets[0].addresses[0].ip: {ZEROS}");
        let not_ready = format!("subsets[0].notReadyAddresses[0].ip: {ZEROS}");
        let sliced = format!("endpoints[0].addresses[1]: {ZEROS}");
        let plain = object(json!({"endpoints.kubernetes.io/managed-by": "me"}));
        created("", "endpoints", plain.clone(), &[&ready, &not_ready]);
        created("discovery.k8s.io", "endpointslices", plain.clone(), &[&sliced]);
        updated("discovery.k8s.io", "endpointslices", plain.clone(), plain, &[&sliced]);
        let managed = object(json!({"endpoints.kubernetes.io/managed-by": "endpoint-controller"}));
        created("", "endpoints", managed, &[]);
        for controller in ["endpointslice-controller.k8s.io", "endpointslicemirroring-controller.k8s.io"] {
            let managed = object(json!({"endpointslice.kubernetes.io/managed-by": controller}));
            created("discovery.k8s.io", "endpointslices", managed, &[]);
        }
    }

    #[test]
    fn fqdn_endpoint_slices_warn() {
        let slice = json!({"addressType": "FQDN", "endpoints": [{"addresses": ["example.com"]}]});
        let expected = ["spec.addressType: FQDN endpoints are deprecated"];
        created("discovery.k8s.io", "endpointslices", slice.clone(), &expected);
        updated("discovery.k8s.io", "endpointslices", slice.clone(), slice, &[]);
    }

    #[test]
    fn ingress_class_annotation_warns() {
        let ingress = |spec: Value| json!({"metadata": {"annotations": {"kubernetes.io/ingress.class": "a"}}, "spec": spec});
        let expected = ["annotation \"kubernetes.io/ingress.class\" is deprecated, please use \
                         'spec.ingressClassName' instead"];
        created("networking.k8s.io", "ingresses", ingress(json!({})), &expected);
        updated("networking.k8s.io", "ingresses", ingress(json!({})), ingress(json!({})), &[]);
        created("networking.k8s.io", "ingresses", ingress(json!({"ingressClassName": "a"})), &[]);
    }

    #[test]
    fn network_policies_have_ranges() {
        let block = json!({"ipBlock": {"cidr": "01.0.0.0/8", "except": ["1.2.0.0/16", "1.02.0.0/16"]}});
        let policy = json!({"spec": {"ingress": [null, {"from": [{}, block]}], "egress": [{"to": [block]}]}});
        let expected = |path: &str| {
            [
                format!(
                    "{path}.ipBlock.cidr: non-standard CIDR value \"01.0.0.0/8\" is invalid: use \"1.0.0.0/8\""
                ),
                format!(
                    "{path}.ipBlock.except[1]: non-standard CIDR value \"1.02.0.0/16\" is invalid: use \"1.2.0.0/16\""
                ),
            ]
        };
        let ingress = expected("spec.ingress[1].from[1]");
        let egress = expected("spec.egress[0].to[0]");
        let expected: Vec<&str> = ingress.iter().chain(&egress).map(String::as_str).collect();
        created("networking.k8s.io", "networkpolicies", policy.clone(), &expected);
        updated("networking.k8s.io", "networkpolicies", policy.clone(), policy, &expected);
    }
}
