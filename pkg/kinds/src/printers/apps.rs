//! Rows of workloads that keep pods running.

use super::format::{NONE, age, containers, group_resource, label_selector, labels};
use super::view::View;
use super::{Cell, Cells, autoscaling};
use apimachinery::labels::from_label_selector;
use apimachinery::time::UnixTime;

pub(super) fn printer(resource: &str) -> Option<Cells> {
    Some(match resource {
        "controllerrevisions" => controller_revision,
        "daemonsets" => daemon_set,
        "deployments" => deployment,
        "replicasets" => replica_set,
        "scale" => autoscaling::scale,
        "statefulsets" => stateful_set,
        _ => return None,
    })
}

fn controller_revision(object: View<'_>, now: UnixTime) -> Vec<Cell<'_>> {
    let owner = object.at("metadata.ownerReferences").items().find(|o| o.get("controller").flag());
    vec![
        object.name(),
        owner.map_or(NONE.to_owned(), owner_name).into(),
        object.get("revision").int().into(),
        age(object, now),
    ]
}

/// `kind.group/name`, in lower case up to the slash.
fn owner_name(owner: View<'_>) -> String {
    let group = owner.get("apiVersion").text().split_once('/').map_or("", |(group, _)| group);
    let (kind, name) = (owner.get("kind").text(), owner.get("name").text());
    if kind.is_empty() && group.is_empty() {
        return name.to_owned();
    }
    format!("{}/{name}", group_resource(group, kind).to_lowercase())
}

fn daemon_set(object: View<'_>, now: UnixTime) -> Vec<Cell<'_>> {
    let [names, images] = containers(object.at("spec.template.spec"));
    let count = |name| object.get("status").get(name).int().into();
    vec![
        object.name(),
        count("desiredNumberScheduled"),
        count("currentNumberScheduled"),
        count("numberReady"),
        count("updatedNumberScheduled"),
        count("numberAvailable"),
        labels(object.at("spec.template.spec.nodeSelector")).into(),
        age(object, now),
        names,
        images,
        label_selector(object.at("spec.selector")).into(),
    ]
}

fn deployment(object: View<'_>, now: UnixTime) -> Vec<Cell<'_>> {
    let [names, images] = containers(object.at("spec.template.spec"));
    // Other kinds say <none> and <error> here.
    let selector = match from_label_selector(object.at("spec.selector").object().as_deref()) {
        Ok(selector) => selector.to_string(),
        Err(_) => "<invalid>".to_owned(),
    };
    vec![
        object.name(),
        ready(object).into(),
        object.at("status.updatedReplicas").int().into(),
        object.at("status.availableReplicas").int().into(),
        age(object, now),
        names,
        images,
        selector.into(),
    ]
}

fn replica_set(object: View<'_>, now: UnixTime) -> Vec<Cell<'_>> {
    let [names, images] = containers(object.at("spec.template.spec"));
    vec![
        object.name(),
        object.at("spec.replicas").int().into(),
        object.at("status.replicas").int().into(),
        object.at("status.readyReplicas").int().into(),
        age(object, now),
        names,
        images,
        label_selector(object.at("spec.selector")).into(),
    ]
}

fn stateful_set(object: View<'_>, now: UnixTime) -> Vec<Cell<'_>> {
    let [names, images] = containers(object.at("spec.template.spec"));
    vec![object.name(), ready(object).into(), age(object, now), names, images]
}

/// Ready replicas out of the desired ones.
fn ready(object: View<'_>) -> String {
    format!("{}/{}", object.at("status.readyReplicas").int(), object.at("spec.replicas").int())
}
