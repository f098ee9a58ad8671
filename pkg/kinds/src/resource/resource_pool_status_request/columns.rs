//! Table columns of resource pool status requests.

use crate::printers::column::{Column, NAME};
use crate::printers::format::{NONE, since};
use api::table::view::View;
use apimachinery::time::UnixTime;

pub(super) static COLUMNS: &[Column] = &[
    NAME,
    Column::text("Driver", |object, _| object.get_path("spec.driver").into())
        .with_description("The driver to query pools for."),
    Column::text("Total", |object, _| device_count(object, "totalDevices").into())
        .with_description("Total number of devices across all pools."),
    Column::text("Available", |object, _| device_count(object, "availableDevices").into())
        .with_description("Number of available devices across all pools."),
    Column::text("Allocated", |object, _| device_count(object, "allocatedDevices").into())
        .with_description("Number of allocated devices across all pools."),
    Column::text("Unavailable", |object, _| device_count(object, "unavailableDevices").into())
        .with_description("Number of unavailable devices across all pools."),
    Column::text("Errors", |object, _| pool_errors(object).into())
        .with_description("Number of pools with validation errors."),
    Column::integer("Pools", |object, _| object.get_path("status.poolCount").int().into())
        .with_description("Total number of matching pools."),
    Column::text("Status", |object, _| pool_state(object).into()).with_description("Processing status."),
    Column::text("Completed", |object, now| pool_completed(object, now).into())
        .with_description("Time since the observation completed."),
];

/// The condition that ends the processing of a request for the status of pools.
fn end<'a>(request: View<'a>) -> Option<View<'a>> {
    let ends = |condition: &View<'_>| {
        condition.get("status").text() == "True"
            && matches!(condition.get("type").text(), "Complete" | "Failed")
    };
    request.get_path("status.conditions").items().find(ends)
}

fn end_type<'a>(request: View<'a>) -> &'a str {
    end(request).map_or("Pending", |condition| condition.get("type").text())
}

/// A number about the pools, unless they could not be counted.
fn if_counted(request: View<'_>, count: impl FnOnce(View<'_>) -> String) -> String {
    if !request.get("status").exists() || end_type(request) == "Failed" {
        return "-".to_owned();
    }
    count(request.get_path("status.pools"))
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
    let shown = status.get("pools").len();
    let pool_count = status.get("poolCount").int();
    match end_type(request) {
        "Complete" if pool_count > shown as i64 => format!("Complete ({shown}/{pool_count} pools)"),
        state => state.to_owned(),
    }
}

fn pool_completed(request: View<'_>, now: UnixTime) -> String {
    let completed = end(request).filter(|condition| condition.get("type").text() == "Complete");
    completed.map_or_else(|| NONE.to_owned(), |condition| since(condition.get("lastTransitionTime"), now))
}
