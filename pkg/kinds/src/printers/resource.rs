//! Rows of dynamic resource allocation.

use super::column::{AGE, Column, NAME, integer, text};
use super::format::{NONE, since};
use super::view::View;
use apimachinery::time::UnixTime;

pub(super) static DEVICE_TAINT_RULE: &[Column] = &[
    NAME,
    text("Key", |object, _| object.at("spec.taint.key").into())
        .described_as("io.k8s.api.resource.v1.DeviceTaint", "key"),
    text("Value", |object, _| object.at("spec.taint.value").into())
        .described_as("io.k8s.api.resource.v1.DeviceTaint", "value"),
    text("Effect", |object, _| object.at("spec.taint.effect").into())
        .described_as("io.k8s.api.resource.v1.DeviceTaint", "effect"),
    text("TimeAdded", |object, now| time_added(object, now).into())
        .described_as("io.k8s.api.resource.v1.DeviceTaint", "timeAdded"),
    AGE,
];

pub(super) static RESOURCE_CLAIM: &[Column] = &[
    NAME,
    text("State", |object, _| claim_state(object).into())
        .described("A summary of the current state (allocated, pending, reserved, etc.)."),
    AGE,
];

pub(super) static RESOURCE_SLICE: &[Column] = &[
    NAME,
    text("Node", |object, _| object.at("spec.nodeName").into())
        .described_as("io.k8s.api.resource.v1.ResourceSliceSpec", "nodeName"),
    text("Driver", |object, _| object.at("spec.driver").into())
        .described_as("io.k8s.api.resource.v1.ResourceSliceSpec", "driver"),
    text("Pool", |object, _| object.at("spec.pool.name").into())
        .described_as("io.k8s.api.resource.v1.ResourcePool", "name"),
    AGE,
];

pub(super) static RESOURCE_POOL_STATUS_REQUEST: &[Column] = &[
    NAME,
    text("Driver", |object, _| object.at("spec.driver").into()).described("The driver to query pools for."),
    text("Total", |object, _| device_count(object, "totalDevices").into())
        .described("Total number of devices across all pools."),
    text("Available", |object, _| device_count(object, "availableDevices").into())
        .described("Number of available devices across all pools."),
    text("Allocated", |object, _| device_count(object, "allocatedDevices").into())
        .described("Number of allocated devices across all pools."),
    text("Unavailable", |object, _| device_count(object, "unavailableDevices").into())
        .described("Number of unavailable devices across all pools."),
    text("Errors", |object, _| pool_errors(object).into())
        .described("Number of pools with validation errors."),
    integer("Pools", |object, _| object.at("status.poolCount").int().into())
        .described("Total number of matching pools."),
    text("Status", |object, _| pool_state(object).into()).described("Processing status."),
    text("Completed", |object, now| pool_completed(object, now).into())
        .described("Time since the observation completed."),
];

fn time_added(rule: View<'_>, now: UnixTime) -> String {
    let added = rule.at("spec.taint.timeAdded");
    if added.exists() { since(added, now) } else { String::new() }
}

fn claim_state(claim: View<'_>) -> &'static str {
    let deleted = claim.at("metadata.deletionTimestamp").exists();
    let allocated = claim.at("status.allocation").exists();
    let reserved = !claim.at("status.reservedFor").is_empty();
    match (deleted, allocated, reserved) {
        (true, false, _) => "deleted",
        (true, true, false) => "deleted,allocated",
        (true, true, true) => "deleted,allocated,reserved",
        (false, false, _) => "pending",
        (false, true, false) => "allocated",
        (false, true, true) => "allocated,reserved",
    }
}

/// The condition that ends the processing of a request for the status of pools.
fn end<'a>(request: View<'a>) -> Option<View<'a>> {
    let ends = |condition: &View<'_>| {
        condition.get("status").text() == "True"
            && matches!(condition.get("type").text(), "Complete" | "Failed")
    };
    request.at("status.conditions").items().find(ends)
}

fn end_type<'a>(request: View<'a>) -> &'a str {
    end(request).map_or("Pending", |condition| condition.get("type").text())
}

/// A number about the pools, unless they could not be counted.
fn if_counted(request: View<'_>, count: impl FnOnce(View<'_>) -> String) -> String {
    if !request.get("status").exists() || end_type(request) == "Failed" {
        return "-".to_owned();
    }
    count(request.at("status.pools"))
}

fn device_count(request: View<'_>, name: &str) -> String {
    if_counted(request, |pools| pools.items().map(|pool| pool.get(name).int()).sum::<i64>().to_string())
}

fn pool_errors(request: View<'_>) -> String {
    if_counted(request, |pools| {
        pools.items().filter(|pool| pool.get("validationError").exists()).count().to_string()
    })
}

fn pool_state(request: View<'_>) -> String {
    let status = request.get("status");
    let (shown, found) = (status.get("pools").len(), status.get("poolCount").int());
    match end_type(request) {
        "Complete" if found > shown as i64 => format!("Complete ({shown}/{found} pools)"),
        state => state.to_owned(),
    }
}

fn pool_completed(request: View<'_>, now: UnixTime) -> String {
    let completed = end(request).filter(|condition| condition.get("type").text() == "Complete");
    completed.map_or_else(|| NONE.to_owned(), |condition| since(condition.get("lastTransitionTime"), now))
}
