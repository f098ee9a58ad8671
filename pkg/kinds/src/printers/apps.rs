//! Rows of workloads that keep pods running.

use super::column::{AGE, CONTAINERS, Column, IMAGES, NAME, integer, text};
use super::format::{NONE, group_resource, label_selector, labels};
use super::view::View;

use apimachinery::labels::from_label_selector;

pub(super) static CONTROLLER_REVISION: &[Column] = &[
    NAME,
    text("Controller", |object, _| controller(object).into()).described("Controller of the object"),
    text("Revision", |object, _| object.get("revision").int().into())
        .described_as("io.k8s.api.apps.v1.ControllerRevision", "revision"),
    AGE,
];

pub(super) static DAEMON_SET: &[Column] = &[
    NAME,
    integer("Desired", |object, _| object.at("status.desiredNumberScheduled").int().into())
        .described_as("io.k8s.api.apps.v1.DaemonSetStatus", "desiredNumberScheduled"),
    integer("Current", |object, _| object.at("status.currentNumberScheduled").int().into())
        .described_as("io.k8s.api.apps.v1.DaemonSetStatus", "currentNumberScheduled"),
    integer("Ready", |object, _| object.at("status.numberReady").int().into())
        .described_as("io.k8s.api.apps.v1.DaemonSetStatus", "numberReady"),
    integer("Up-to-date", |object, _| object.at("status.updatedNumberScheduled").int().into())
        .described_as("io.k8s.api.apps.v1.DaemonSetStatus", "updatedNumberScheduled"),
    integer("Available", |object, _| object.at("status.numberAvailable").int().into())
        .described_as("io.k8s.api.apps.v1.DaemonSetStatus", "numberAvailable"),
    text("Node Selector", |object, _| labels(object.at("spec.template.spec.nodeSelector")).into())
        .described_as("io.k8s.api.core.v1.PodSpec", "nodeSelector"),
    AGE,
    CONTAINERS,
    IMAGES,
    text("Selector", |object, _| label_selector(object.at("spec.selector")).into())
        .described_as("io.k8s.api.apps.v1.DaemonSetSpec", "selector")
        .wide(),
];

pub(super) static DEPLOYMENT: &[Column] = &[
    NAME,
    text("Ready", |object, _| ready(object).into()).described("Number of the pod with ready state"),
    text("Up-to-date", |object, _| object.at("status.updatedReplicas").int().into())
        .described_as("io.k8s.api.apps.v1.DeploymentStatus", "updatedReplicas"),
    text("Available", |object, _| object.at("status.availableReplicas").int().into())
        .described_as("io.k8s.api.apps.v1.DeploymentStatus", "availableReplicas"),
    AGE,
    CONTAINERS,
    IMAGES,
    text("Selector", |object, _| deployment_selector(object).into())
        .described_as("io.k8s.api.apps.v1.DeploymentSpec", "selector")
        .wide(),
];

pub(super) static REPLICA_SET: &[Column] = &[
    NAME,
    integer("Desired", |object, _| object.at("spec.replicas").int().into())
        .described_as("io.k8s.api.apps.v1.ReplicaSetSpec", "replicas"),
    integer("Current", |object, _| object.at("status.replicas").int().into())
        .described_as("io.k8s.api.apps.v1.ReplicaSetStatus", "replicas"),
    integer("Ready", |object, _| object.at("status.readyReplicas").int().into())
        .described_as("io.k8s.api.apps.v1.ReplicaSetStatus", "readyReplicas"),
    AGE,
    CONTAINERS,
    IMAGES,
    text("Selector", |object, _| label_selector(object.at("spec.selector")).into())
        .described_as("io.k8s.api.apps.v1.ReplicaSetSpec", "selector")
        .wide(),
];

pub(super) static STATEFUL_SET: &[Column] = &[
    NAME,
    text("Ready", |object, _| ready(object).into()).described("Number of the pod with ready state"),
    AGE,
    CONTAINERS,
    IMAGES,
];

fn controller(object: View<'_>) -> String {
    let owner = object.at("metadata.ownerReferences").items().find(|o| o.get("controller").flag());
    owner.map_or(NONE.to_owned(), owner_name)
}

fn deployment_selector(object: View<'_>) -> String {
    // Other kinds print `<none>` and `<error>` here.
    match from_label_selector(object.at("spec.selector").object().as_deref()) {
        Ok(selector) => selector.to_string(),
        Err(_) => "<invalid>".to_owned(),
    }
}

/// Returns `kind.group/name`, in lower case up to the slash.
fn owner_name(owner: View<'_>) -> String {
    let group = owner.get("apiVersion").text().split_once('/').map_or("", |(group, _)| group);
    let (kind, name) = (owner.get("kind").text(), owner.get("name").text());
    if kind.is_empty() && group.is_empty() {
        return name.to_owned();
    }
    format!("{}/{name}", group_resource(group, kind).to_lowercase())
}

/// Returns ready and desired replicas.
fn ready(object: View<'_>) -> String {
    format!("{}/{}", object.at("status.readyReplicas").int(), object.at("spec.replicas").int())
}
