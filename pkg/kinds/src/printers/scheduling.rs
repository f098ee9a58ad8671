//! Rows of priority classes, workloads and pod groups.

use super::format::{NONE, age};
use super::view::View;
use super::{Cell, Cells};
use apimachinery::time::UnixTime;

pub(super) fn printer(resource: &str) -> Option<Cells> {
    Some(match resource {
        "podgroups" => pod_group,
        "priorityclasses" => priority_class,
        "workloads" => |object, now| vec![object.name(), age(object, now)],
        _ => return None,
    })
}

fn priority_class(object: View<'_>, now: UnixTime) -> Vec<Cell<'_>> {
    vec![
        object.name(),
        object.get("value").int().into(),
        object.get("globalDefault").flag().into(),
        age(object, now),
        object.get("preemptionPolicy").into(),
    ]
}

fn pod_group(object: View<'_>, now: UnixTime) -> Vec<Cell<'_>> {
    let spec = object.get("spec");
    let gang = spec.at("schedulingPolicy.gang").exists();
    let template = spec.get("podGroupTemplateRef");
    vec![
        object.name(),
        if gang { "Gang" } else { "Basic" }.into(),
        if template.exists() { template.at("workload.workloadName").text() } else { NONE }.into(),
        pod_group_status(object.at("status.conditions")).into(),
        age(object, now),
    ]
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
