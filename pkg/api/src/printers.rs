//! The rows of Table answers (`kubectl get`): for every built-in kind a
//! function from an object to its cells, in the order of the columns of its
//! resource row.
//!
//! Cells are upstream's (`pkg/printers/internalversion`), which print internal
//! objects; here they are made from the JSON of the served version.

mod admissionregistration;
mod apiregistration;
mod apps;
mod autoscaling;
mod batch;
mod certificates;
mod coordination;
mod core;
mod descriptions;
mod discovery;
mod events;
mod flowcontrol;
mod format;
mod internal;
mod metrics;
mod networking;
mod node;
mod pod;
mod policy;
mod rbac;
mod resource;
mod scheduling;
mod storage;
mod storagemigration;
mod view;
mod volumes;

use apimachinery::time::{UnixTime, parse_time};
use serde_json::{Map, Value};
use view::View;

pub use descriptions::{column_descriptions, scale_column_descriptions, status_column_descriptions};

/// Makes the cells of one object; ages count up to the given time.
type Cells = fn(View<'_>, UnixTime) -> Vec<Value>;

/// A condition of a Table row; upstream sets one on pods that have ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowCondition {
    /// `Completed`
    pub condition_type: &'static str,
    /// `True`
    pub status: &'static str,
    /// The phase of the pod.
    pub reason: &'static str,
    /// A sentence for people.
    pub message: &'static str,
}

/// The cells of an object of a resource, or, for a resource without a printer
/// of its own, its name and creation time.
///
/// An autoscaler in version 1 has lost the order of its metrics (and all CPU
/// metrics but one), which the column shows; a caller that has the version 2
/// form at hand passes that, with its group version.
///
/// `group_version` is the served one (`v1`, `apps/v1`), `resource` the plural
/// name. A `Scale` goes by the name `scale`, in any group that has it.
pub fn cells(group_version: &str, resource: &str, object: &Map<String, Value>, now: UnixTime) -> Vec<Value> {
    let view = View::of(object);
    match printer(group_version, resource) {
        Some(print) => print(view, now),
        None => name_and_created_at(view),
    }
}

/// Whether a resource has a printer of its own. Where it has none, upstream
/// answers an empty list with `rows: null` instead of `[]`.
pub fn has_printer(group_version: &str, resource: &str) -> bool {
    printer(group_version, resource).is_some()
}

/// The cells of a `Status` that stands in for an object: status, reason and
/// message.
pub fn status_cells(status: &Map<String, Value>) -> Vec<Value> {
    let view = View::of(status);
    ["status", "reason", "message"].map(|name| view.get(name).text().into()).into()
}

/// The condition of the row of a pod that has ended.
pub fn row_condition(
    group_version: &str,
    resource: &str,
    object: &Map<String, Value>,
) -> Option<RowCondition> {
    if (group_version, resource) != ("v1", "pods") {
        return None;
    }
    let (reason, message) = match View::of(object).at("status.phase").text() {
        "Succeeded" => ("Succeeded", "The pod has completed successfully."),
        "Failed" => ("Failed", "The pod failed."),
        _ => return None,
    };
    Some(RowCondition { condition_type: "Completed", status: "True", reason, message })
}

fn printer(group_version: &str, resource: &str) -> Option<Cells> {
    let (group, version) = group_version.split_once('/').unwrap_or(("", group_version));
    match group {
        "" => core::printer(resource),
        "admissionregistration.k8s.io" => admissionregistration::printer(resource),
        "apiregistration.k8s.io" => apiregistration::printer(resource),
        "apps" => apps::printer(resource),
        "autoscaling" => autoscaling::printer(version, resource),
        "batch" => batch::printer(resource),
        "certificates.k8s.io" => certificates::printer(resource),
        "coordination.k8s.io" => coordination::printer(resource),
        "discovery.k8s.io" => discovery::printer(resource),
        "events.k8s.io" => events::printer(resource),
        "flowcontrol.apiserver.k8s.io" => flowcontrol::printer(resource),
        "internal.apiserver.k8s.io" => internal::printer(resource),
        "networking.k8s.io" => networking::printer(resource),
        "node.k8s.io" => node::printer(resource),
        "policy" => policy::printer(resource),
        "rbac.authorization.k8s.io" => rbac::printer(resource),
        "resource.k8s.io" => resource::printer(resource),
        "scheduling.k8s.io" => scheduling::printer(resource),
        "storage.k8s.io" => storage::printer(resource),
        "storagemigration.k8s.io" => storagemigration::printer(resource),
        _ => None,
    }
}

fn name_and_created_at(object: View<'_>) -> Vec<Value> {
    let created = parse_time(object.at("metadata.creationTimestamp").text());
    let created = created.unwrap_or(apimachinery::time::GO_ZERO_TIME);
    vec![object.name(), created.rfc3339().to_string().into()]
}

#[cfg(test)]
mod tests;
