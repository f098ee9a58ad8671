//! The core group, except for the large kinds: pods ([`super::pod`]) and services ([`super::service`]).

use super::fill::{copy_missing, each, if_nil, if_present, if_zero, is_nil, is_zero, text, within};
use super::object::Object;
use super::resource_list::round;
use super::{Rule, pod, pod_spec, service, volumes};
use jsontree::Value;

/// Path of the labels of a workload's pod template.
pub(super) const TEMPLATE_LABELS: &[&str] = &["spec", "template", "metadata", "labels"];

/// Label of every namespace with its name.
const NAMESPACE_NAME_LABEL: &str = "kubernetes.io/metadata.name";

pub(super) fn rule(version: &str, kind: &str) -> Option<Rule> {
    Some(match (version, kind) {
        ("v1", "Pod") => pod::pod,
        ("v1", "Endpoints") => endpoints,
        ("v1", "LimitRange") => limit_range,
        ("v1", "Namespace") => namespace,
        ("v1", "Node") => node,
        ("v1", "PersistentVolume") => persistent_volume,
        ("v1", "PersistentVolumeClaim") => persistent_volume_claim,
        ("v1", "PodTemplate") => pod_template,
        ("v1", "ReplicationController") => replication_controller,
        ("v1", "ResourceQuota") => resource_quota,
        ("v1", "Secret") => |secret| if_zero(secret, "type", "Opaque"),
        ("v1", "Service") => service::service,
        _ => return None,
    })
}

/// Copies the labels of the pod template to an object without labels.
pub(super) fn labels_from_template(object: &mut Object) {
    if object.is_zero_at(&["metadata", "labels"]) {
        object.copy(TEMPLATE_LABELS, &["metadata", "labels"]);
    }
}

/// Sets the defaults of a persistent volume claim, also as a template of a stateful set.
pub(super) fn persistent_volume_claim(claim: &mut Object) {
    within(claim, "spec", volumes::claim_spec);
    within(claim, "status", |status| {
        if_zero(status, "phase", "Pending");
        round(status, "capacity");
        round(status, "allocatedResources");
    });
}

fn endpoints(endpoints: &mut Object) {
    each(endpoints, "subsets", |subset| each(subset, "ports", |port| if_zero(port, "protocol", "TCP")));
}

fn limit_range(range: &mut Object) {
    if_present(range, "spec", |spec| each(spec, "limits", limit_range_item));
}

/// Derives a container's default limit from the maximum. Its default request follows from that limit, or from
/// the minimum. Other types have no such defaults.
fn limit_range_item(item: &mut Object) {
    if text(item, "type") == "Container" {
        copy_missing(item, "max", "default");
        copy_missing(item, "default", "defaultRequest");
        copy_missing(item, "min", "defaultRequest");
    }
    for list in ["max", "min", "default", "defaultRequest", "maxLimitRequestRatio"] {
        round(item, list);
    }
}

/// Labels a namespace with its name. A generated name is not known yet.
fn namespace(namespace: &mut Object) {
    let label = ["metadata", "labels", NAMESPACE_NAME_LABEL];
    let name = namespace.text_at(&["metadata", "name"]);
    if !name.is_empty() && name != namespace.text_at(&label) {
        let name = Value::from(name);
        namespace.set_at(&label, name);
    }
    within(namespace, "status", |status| if_zero(status, "phase", "Active"));
}

/// The allocatable resources of a node default to its capacity.
fn node(node: &mut Object) {
    if_present(node, "status", |status| {
        if is_nil(status, "allocatable") && !is_zero(status, "capacity") {
            copy_missing(status, "capacity", "allocatable");
        }
        round(status, "capacity");
        round(status, "allocatable");
    });
}

fn persistent_volume(volume: &mut Object) {
    within(volume, "spec", |spec| {
        if_zero(spec, "persistentVolumeReclaimPolicy", "Retain");
        if_nil(spec, "volumeMode", "Filesystem");
        volumes::persistent_source(spec);
    });
    within(volume, "status", |status| if_zero(status, "phase", "Pending"));
}

fn pod_template(object: &mut Object) {
    within(object, "template", pod_spec::template);
}

fn replication_controller(controller: &mut Object) {
    if controller.is_zero_at(&["spec", "selector"]) {
        controller.copy(TEMPLATE_LABELS, &["spec", "selector"]);
    }
    labels_from_template(controller);
    within(controller, "spec", |spec| {
        if_nil(spec, "replicas", 1);
        if_present(spec, "template", pod_spec::template);
    });
}

fn resource_quota(quota: &mut Object) {
    if_present(quota, "spec", |spec| round(spec, "hard"));
    if_present(quota, "status", |status| {
        round(status, "hard");
        round(status, "used");
    });
}
