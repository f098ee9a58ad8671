//! The status of a pod, reported by the kubelet and the scheduler (upstream's `ValidatePodStatusUpdate`).

mod claims;
mod containers;

use super::options::PodOptions;
use crate::validation::conditions::health_conditions;
use crate::validation::go_value::go_values;
use crate::validation::value::{dns_subdomain, invalid_each, qualified_name};
use crate::validation::{Spelling, canonical_ip, is_valid_legacy_ip};
use api::tree::{child, children, integer, text};
use apimachinery::field::{BadValue, Error, ErrorList, Path};
use schema::builtin::{IO_K8S_API_CORE_V1_HOSTIP as HOST_IP, IO_K8S_API_CORE_V1_PODIP as POD_IP};
use schema::object::Object;
use schema::table::Message;

/// Conditions that need not be qualified names.
const SYSTEM_CONDITIONS: &[&str] = &["PodScheduled", "Ready", "Initialized"];
const NEGATIVE: &str = "must be a non-negative integer";

/// Validates the new status of a pod, after its metadata.
pub(super) fn validate_status_update(
    new: &Object,
    old: &Object,
    options: &PodOptions,
    errors: &mut ErrorList,
) {
    let spelling = options.spelling();
    let empty = Object::new();
    let part = |pod, member| child(pod, member).unwrap_or(&empty);
    let spec = part(new, "spec");
    let old_spec = part(old, "spec");
    let status = part(new, "status");
    let old_status = part(old, "status");
    let path = Path::root("status");
    conditions(&path.child("conditions"), status, errors);
    if text(spec, "nodeName") != text(old_spec, "nodeName") {
        errors.push(Error::forbidden(&path.child("nodeName"), "may not be changed directly"));
    }
    nominated_node(&path.child("nominatedNodeName"), status, old_status, errors);
    if options.bound_is_not_nominated && !text(old_spec, "nodeName").is_empty() {
        no_new_nomination(&path.child("nominatedNodeName"), status, old_status, errors);
    }
    generation(&path, status, errors);
    let class = text(status, "qosClass");
    if class != text(old_status, "qosClass") {
        let value = BadValue::json_text(class);
        errors.push(Error::invalid(&path.child("qosClass"), value, "field is immutable"));
    }
    containers::transitions(&path, status, old_status, old_spec, options, errors);
    claims::resource_claims(&path.child("resourceClaimStatuses"), status, spec, errors);
    claims::extended_resource_claim(&path.child("extendedResourceClaimStatus"), status, spec, errors);
    let allocatable = path.child("nodeAllocatableResourceClaimStatuses");
    claims::node_allocatable_claims(&allocatable, status, spec, errors);
    volume_health(&path.child("volumeHealth"), status, spec, errors);
    ips(&path.child("podIPs"), "podIPs", &POD_IP, status, old_status, spelling, errors);
    single_ip(&path.child("podIPs"), status, errors);
    host_ips(&path.child("hostIPs"), status, old_status, spelling, errors);
    containers::users(&path, status, spec, errors);
    containers::allocated_resources(&path, status, spec, errors);
    if options.image_volume_digests {
        containers::image_volumes(&path, status, errors);
    }
}

fn generation(path: &Path<'_>, object: &Object, errors: &mut ErrorList) {
    let generation = integer(object, "observedGeneration");
    if generation < 0 {
        errors.push(Error::invalid(&path.child("observedGeneration"), generation, NEGATIVE));
    }
}

fn conditions(path: &Path<'_>, status: &Object, errors: &mut ErrorList) {
    for (index, condition) in children(status, "conditions").enumerate() {
        let path = path.index(index);
        generation(&path, condition, errors);
        let kind = text(condition, "type");
        if !SYSTEM_CONDITIONS.contains(&kind) {
            qualified_name(&path.child("Type"), kind, errors);
        }
    }
}

/// Returns the nominated node for preemption, if it changes.
fn new_nomination<'o>(status: &'o Object, old_status: &Object) -> Option<&'o str> {
    let name = text(status, "nominatedNodeName");
    (!name.is_empty() && name != text(old_status, "nominatedNodeName")).then_some(name)
}

fn nominated_node(path: &Path<'_>, status: &Object, old_status: &Object, errors: &mut ErrorList) {
    if let Some(name) = new_nomination(status, old_status) {
        dns_subdomain(path, name, errors);
    }
}

/// Rejects a new nomination of a pod that already has a node (KEP-5278).
fn no_new_nomination(path: &Path<'_>, status: &Object, old_status: &Object, errors: &mut ErrorList) {
    if new_nomination(status, old_status).is_some() {
        errors.push(Error::forbidden(path, "may not be set on pods that are already bound to a node"));
    }
}

/// Validates addresses: new ones must be valid, with at most one per IP family.
fn ips(
    path: &Path<'_>,
    member: &str,
    message: &'static Message,
    status: &Object,
    old_status: &Object,
    spelling: Spelling,
    errors: &mut ErrorList,
) {
    let addresses = |status| children(status, member).map(|item| text(item, "ip"));
    for (index, ip) in addresses(status).enumerate() {
        if !addresses(old_status).any(|old| old == ip) {
            invalid_each(&path.index(index), ip, is_valid_legacy_ip(ip, spelling), errors);
        }
    }
    let all: Vec<_> = addresses(status).map(|ip| (ip, canonical_ip(ip))).collect();
    if all.len() < 2 {
        return;
    }
    if let Some((index, (bad, _))) = all.iter().enumerate().find(|(_, (_, parsed))| parsed.is_none()) {
        let detail = format!("failed to check for dual stack with error:invalid IP[{index}]: {bad}");
        errors.push(Error::internal(path, detail));
    }
    let parsed = || all.iter().filter_map(|(_, ip)| ip.map(|ip| ip.to_canonical()));
    let complete = parsed().count() == all.len();
    let dual = complete && parsed().any(|ip| ip.is_ipv4()) && parsed().any(|ip| ip.is_ipv6());
    if !dual || all.len() > 2 {
        let detail = "may specify no more than one IP for each IP family";
        errors.push(Error::invalid(path, go_values(message, status.get(member)), detail));
    }
}

/// Checks that `podIP` is the first of `podIPs`. `path` is that of the list.
fn single_ip(path: &Path<'_>, status: &Object, errors: &mut ErrorList) {
    let single = text(status, "podIP");
    let first = children(status, "podIPs").next().map(|item| text(item, "ip"));
    match first {
        None if single.is_empty() => {}
        Some(first) if !single.is_empty() && first == single => {}
        Some(first) if !single.is_empty() => {
            let path = path.index(0);
            errors.push(Error::invalid(&path.child("ip"), first, "must be equal to `podIP`"));
        }
        _ => {
            let detail = "podIP and podIPs must either both be set or both be unset";
            errors.push(Error::invalid(path, go_values(&POD_IP, status.get("podIPs")), detail));
        }
    }
}

/// Validates the health of the pod's volumes (KEP-1432). `path` is that of the list.
fn volume_health(path: &Path<'_>, status: &Object, spec: &Object, errors: &mut ErrorList) {
    for (index, volume) in children(status, "volumeHealth").enumerate() {
        let path = path.index(index);
        let name = text(volume, "name");
        if !name.is_empty() && !children(spec, "volumes").any(|volume| text(volume, "name") == name) {
            errors.push(Error::not_found(&path.child("name"), name));
        }
        health_conditions(&path, volume, errors);
    }
}

fn host_ips(
    path: &Path<'_>,
    status: &Object,
    old_status: &Object,
    spelling: Spelling,
    errors: &mut ErrorList,
) {
    let Some(first) = children(status, "hostIPs").next() else { return };
    let ip = text(first, "ip");
    if ip != text(status, "hostIP") {
        let path = path.index(0);
        errors.push(Error::invalid(&path.child("ip"), ip, "must be equal to `hostIP`"));
    }
    ips(path, "hostIPs", &HOST_IP, status, old_status, spelling, errors);
}

/// Returns the terminated state of a container status.
fn terminated(status: &Object) -> Option<&Object> {
    child(status, "state").and_then(|state| child(state, "terminated"))
}
