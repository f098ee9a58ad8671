//! Table columns of pod groups.

use crate::printers::column::{AGE, Column, NAME};
use crate::printers::format::NONE;
use api::table::view::View;

pub(super) static COLUMNS: &[Column] = &[
    NAME,
    Column::text("Policy", |object, _| policy(object).into())
        .with_description_of("io.k8s.api.scheduling.v1beta1.PodGroupSpec", "schedulingPolicy"),
    Column::text("Workload", |object, _| workload(object).into())
        .with_description("Name of the referenced Workload object"),
    Column::text("Status", |object, _| status(object.get_path("status.conditions")).into())
        .with_description("Status of the PodGroup"),
    AGE,
];

pub(in crate::scheduling) fn policy(group: View<'_>) -> &'static str {
    if group.get_path("spec.schedulingPolicy.gang").exists() { "Gang" } else { "Basic" }
}

pub(in crate::scheduling) fn workload<'a>(group: View<'a>) -> &'a str {
    let reference = group.get_path("spec.workloadRef");
    if reference.exists() { reference.get("workloadName").text() } else { NONE }
}

/// The last condition of each type counts.
fn status(conditions: View<'_>) -> String {
    let last =
        |condition_type: &str| conditions.items().filter(|c| c.get("type").text() == condition_type).last();
    let scheduled = last("PodGroupInitiallyScheduled").map(|c| c.get("status").text() == "True");
    match (last("DisruptionTarget"), scheduled) {
        (Some(target), _) => target.get("reason").text().to_owned(),
        (None, Some(true)) => "Scheduled".to_owned(),
        (None, Some(false)) => "Unschedulable".to_owned(),
        (None, None) => "Pending".to_owned(),
    }
}
