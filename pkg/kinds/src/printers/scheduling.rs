//! Rows of priority classes, workloads and pod groups.

use super::column::{AGE, Column, NAME, boolean, integer, text};
use super::format::NONE;
use super::view::View;

pub(super) static PRIORITY_CLASS: &[Column] = &[
    NAME,
    integer("Value", |object, _| object.get("value").int().into())
        .described_as("io.k8s.api.scheduling.v1.PriorityClass", "value"),
    boolean("Global-Default", |object, _| object.get("globalDefault").flag().into())
        .described_as("io.k8s.api.scheduling.v1.PriorityClass", "globalDefault"),
    AGE,
    text("PreemptionPolicy", |object, _| object.get("preemptionPolicy").into())
        .described_as("io.k8s.api.scheduling.v1.PriorityClass", "preemptionPolicy"),
];

pub(super) static POD_GROUP: &[Column] = &[
    NAME,
    text("Policy", |object, _| pod_group_policy(object).into())
        .described_as("io.k8s.api.scheduling.v1alpha2.PodGroupSpec", "schedulingPolicy"),
    text("Workload", |object, _| pod_group_workload(object).into())
        .described("Name of the referenced Workload object"),
    text("Status", |object, _| pod_group_status(object.at("status.conditions")).into())
        .described("Status of the PodGroup"),
    AGE,
];

fn pod_group_policy(group: View<'_>) -> &'static str {
    if group.at("spec.schedulingPolicy.gang").exists() { "Gang" } else { "Basic" }
}

fn pod_group_workload<'a>(group: View<'a>) -> &'a str {
    let template = group.at("spec.podGroupTemplateRef");
    if template.exists() { template.at("workload.workloadName").text() } else { NONE }
}

/// The last condition of each type counts.
fn pod_group_status(conditions: View<'_>) -> String {
    let last =
        |condition_type: &str| conditions.items().filter(|c| c.get("type").text() == condition_type).last();
    let scheduled = last("PodGroupScheduled").map(|c| c.get("status").text() == "True");
    match (last("DisruptionTarget"), scheduled) {
        (Some(target), _) => target.get("reason").text().to_owned(),
        (None, Some(true)) => "Scheduled".to_owned(),
        (None, Some(false)) => "Unschedulable".to_owned(),
        (None, None) => "Pending".to_owned(),
    }
}
