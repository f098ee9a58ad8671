//! The core group, but for the large kinds: pods ([`super::pod`]) and services ([`super::service`]).

use super::fill::{behind, copy_missing, each, if_nil, if_zero, is_nil, is_zero, within};
use super::resource_list::round;
use super::{Rule, pod, pod_spec, service, volumes};
use crate::tree::text;
use schema::object::{Object, get, get_object, get_str};
use serde_json::Value;

/// The label that every namespace carries: its name.
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

/// Gives an object without labels those of its pod template; an object with labels keeps them.
pub(super) fn labels_from_template(object: &mut Object) {
    if get_object(object, &["metadata", "labels"]).is_none_or(Object::is_empty)
        && let Some(labels) = template_labels(object)
    {
        within(object, "metadata", |metadata| _ = metadata.insert("labels".to_owned(), labels));
    }
}

/// The labels of the pod template in the spec, if there are any.
fn template_labels(object: &Object) -> Option<Value> {
    let labels = get(object, &["spec", "template", "metadata", "labels"])?;
    labels.as_object().is_some_and(|labels| !labels.is_empty()).then(|| labels.clone())
}

/// A persistent volume claim, alone or as a template of a stateful set.
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
    behind(range, "spec", |spec| each(spec, "limits", limit_range_item));
}

/// What a container is limited to by default follows from the maximum, and what it requests by default
/// from that, else from the minimum. Other types have no such defaults.
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

/// A namespace is labelled with its name; a generated name is not known yet.
fn namespace(namespace: &mut Object) {
    let name = get_str(namespace, &["metadata", "name"]).unwrap_or_default();
    let label = get_str(namespace, &["metadata", "labels", NAMESPACE_NAME_LABEL]).unwrap_or_default();
    if name != label && !name.is_empty() {
        let name = Value::from(name);
        within(namespace, "metadata", |metadata| {
            within(metadata, "labels", |labels| _ = labels.insert(NAMESPACE_NAME_LABEL.to_owned(), name));
        });
    }
    within(namespace, "status", |status| if_zero(status, "phase", "Active"));
}

/// All that a node has may be allocated, unless it says otherwise.
fn node(node: &mut Object) {
    behind(node, "status", |status| {
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
    if let Some(labels) = template_labels(controller) {
        within(controller, "spec", |spec| {
            if is_zero(spec, "selector") {
                spec.insert("selector".to_owned(), labels);
            }
        });
    }
    labels_from_template(controller);
    within(controller, "spec", |spec| {
        if_nil(spec, "replicas", 1);
        behind(spec, "template", pod_spec::template);
    });
}

fn resource_quota(quota: &mut Object) {
    behind(quota, "spec", |spec| round(spec, "hard"));
    behind(quota, "status", |status| {
        round(status, "hard");
        round(status, "used");
    });
}
