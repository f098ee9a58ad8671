//! Warnings about services (`pkg/api/service/warnings.go`).

use crate::warnings::addresses::addresses;
use crate::warnings::collector::Warnings;
use crate::warnings::common::annotation;
use crate::warnings::ip;
use api::tree::{child, list, text, texts};
use apimachinery::field::Path;
use schema::object::Object;

const TOPOLOGY_HINTS: &str = "service.kubernetes.io/topology-aware-hints";

pub(super) fn service(service: &Object, out: &mut Warnings) {
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
