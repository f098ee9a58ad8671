//! Table columns of pod groups.

use crate::printers::column::{AGE, Column, NAME};
use crate::printers::format::NONE;
use api::table::view::View;

pub(super) static COLUMNS: &[Column] = &[
    NAME,
    Column::text("Policy", |object, _| pod_group_policy(object).into())
        .with_description_of("io.k8s.api.scheduling.v1alpha2.PodGroupSpec", "schedulingPolicy"),
    Column::text("Workload", |object, _| pod_group_workload(object).into())
        .with_description("Name of the referenced Workload object"),
    Column::text("Status", |object, _| pod_group_status(object.get_path("status.conditions")).into())
        .with_description("Status of the PodGroup"),
    AGE,
];

fn pod_group_policy(group: View<'_>) -> &'static str {
    if group.get_path("spec.schedulingPolicy.gang").exists() { "Gang" } else { "Basic" }
}

fn pod_group_workload<'a>(group: View<'a>) -> &'a str {
    let template = group.get_path("spec.podGroupTemplateRef");
    if template.exists() { template.get_path("workload.workloadName").text() } else { NONE }
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
