//! Table columns of nodes.

use crate::printers::column::{AGE, Column, NAME};
use crate::printers::format::{NONE, UNKNOWN, or_none};
use api::table::Cell;
use api::table::view::View;
use apimachinery::time::UnixTime;
use std::collections::BTreeSet;

pub(super) static COLUMNS: &[Column] = &[
    NAME,
    Column::text("Status", |object, _| node_status(object).into()).with_description("The status of the node"),
    Column::text("Roles", |object, _| or_none(node_roles(object)).into())
        .with_description("The roles of the node"),
    AGE,
    Column::text_of_several("Version", system_info).with_description_of(NODE_SYSTEM_INFO, "kubeletVersion"),
    Column::text_of_previous("Internal-IP")
        .with_description_of("io.k8s.api.core.v1.NodeStatus", "addresses")
        .wide(),
    Column::text_of_previous("External-IP")
        .with_description_of("io.k8s.api.core.v1.NodeStatus", "addresses")
        .wide(),
    Column::text_of_previous("OS-Image").with_description_of(NODE_SYSTEM_INFO, "osImage").wide(),
    Column::text_of_previous("Kernel-Version").with_description_of(NODE_SYSTEM_INFO, "kernelVersion").wide(),
    Column::text_of_previous("Container-Runtime")
        .with_description_of(NODE_SYSTEM_INFO, "containerRuntimeVersion")
        .wide(),
];

const NODE_SYSTEM_INFO: &str = "io.k8s.api.core.v1.NodeSystemInfo";

/// The columns from Version on share one lookup of `nodeInfo`.
fn system_info<'a>(node: View<'a>, _: UnixTime, cells: &mut Vec<Cell<'a>>) {
    let info = node.get_path("status.nodeInfo");
    cells.extend([
        info.get("kubeletVersion").into(),
        node_address(node, "InternalIP").into(),
        node_address(node, "ExternalIP").into(),
        info.get("osImage").non_empty_or(UNKNOWN).into(),
        kernel(info).into(),
        info.get("containerRuntimeVersion").non_empty_or(UNKNOWN).into(),
    ]);
}

fn kernel(info: View<'_>) -> String {
    let version = info.get("kernelVersion").non_empty_or(UNKNOWN);
    match info.get("architecture").text() {
        "" => version.to_owned(),
        architecture => format!("{version} ({architecture})"),
    }
}

/// Returns the last `Ready` condition, and whether pods may be scheduled.
fn node_status(node: View<'_>) -> String {
    let ready = node.get_path("status.conditions").items().filter(|c| c.get("type").text() == "Ready").last();
    let status = match ready.map(|condition| condition.get("status").text()) {
        Some("True") => "Ready",
        Some(_) => "NotReady",
        None => "Unknown",
    };
    let suffix = if node.get_path("spec.unschedulable").flag() { ",SchedulingDisabled" } else { "" };
    format!("{status}{suffix}")
}

/// Returns the roles, which are in label keys after `node-role.kubernetes.io/`, or in the value of
/// `kubernetes.io/role`.
fn node_roles(node: View<'_>) -> String {
    let role = |(key, value): (&'_ str, View<'_>)| match key.strip_prefix("node-role.kubernetes.io/") {
        Some(role) => role.to_owned(),
        None if key == "kubernetes.io/role" => value.text().to_owned(),
        None => String::new(),
    };
    let roles: BTreeSet<String> = node.get_path("metadata.labels").entries().map(role).collect();
    let roles: Vec<String> = roles.into_iter().filter(|role| !role.is_empty()).collect();
    roles.join(",")
}

fn node_address<'a>(node: View<'a>, address_type: &str) -> &'a str {
    let address = node.get_path("status.addresses").condition(address_type);
    address.map_or(NONE, |address| address.get("address").text())
}
