//! Rows of dynamic resource allocation.

use super::format::{NONE, age, since};
use super::view::View;
use super::{Cell, Cells};
use apimachinery::time::UnixTime;

pub(super) fn printer(resource: &str) -> Option<Cells> {
    Some(match resource {
        "deviceclasses" | "resourceclaimtemplates" => name_and_age,
        "devicetaintrules" => taint_rule,
        "resourceclaims" => claim,
        "resourcepoolstatusrequests" => pool_status,
        "resourceslices" => slice,
        _ => return None,
    })
}

fn name_and_age(object: View<'_>, now: UnixTime) -> Vec<Cell<'_>> {
    vec![object.name(), age(object, now)]
}

fn taint_rule(object: View<'_>, now: UnixTime) -> Vec<Cell<'_>> {
    let taint = object.at("spec.taint");
    let added = taint.get("timeAdded");
    vec![
        object.name(),
        taint.get("key").into(),
        taint.get("value").into(),
        taint.get("effect").into(),
        if added.exists() { since(added, now) } else { String::new() }.into(),
        age(object, now),
    ]
}

fn claim(object: View<'_>, now: UnixTime) -> Vec<Cell<'_>> {
    let deleted = object.at("metadata.deletionTimestamp").exists();
    let allocated = object.at("status.allocation").exists();
    let reserved = object.at("status.reservedFor").len() > 0;
    let state = match (deleted, allocated, reserved) {
        (true, false, _) => "deleted",
        (true, true, false) => "deleted,allocated",
        (true, true, true) => "deleted,allocated,reserved",
        (false, false, _) => "pending",
        (false, true, false) => "allocated",
        (false, true, true) => "allocated,reserved",
    };
    vec![object.name(), state.into(), age(object, now)]
}

fn slice(object: View<'_>, now: UnixTime) -> Vec<Cell<'_>> {
    let spec = object.get("spec");
    vec![
        object.name(),
        spec.get("nodeName").into(),
        spec.get("driver").into(),
        spec.at("pool.name").into(),
        age(object, now),
    ]
}

fn pool_status(object: View<'_>, now: UnixTime) -> Vec<Cell<'_>> {
    let status = object.get("status");
    let pools = status.get("pools");
    let ends = |condition: &View<'_>| {
        condition.get("status").text() == "True"
            && matches!(condition.get("type").text(), "Complete" | "Failed")
    };
    let end = status.get("conditions").items().find(ends);
    let end_type = end.map_or("Pending", |condition| condition.get("type").text());
    let (complete, failed) = (end_type == "Complete", end_type == "Failed");
    let pool_count = status.get("poolCount").int();
    let truncated = complete && pool_count > pools.len() as i64;
    let state = if truncated {
        format!("Complete ({}/{pool_count} pools)", pools.len())
    } else {
        end_type.to_owned()
    };
    let counted = status.exists() && !failed;
    let sum = |name: &str| -> Cell<'static> {
        let total: i64 = pools.items().map(|pool| pool.get(name).int()).sum();
        if counted { total.to_string() } else { "-".to_owned() }.into()
    };
    let errors = pools.items().filter(|pool| pool.get("validationError").exists()).count();
    let completed = end.filter(|_| complete).map(|condition| since(condition.get("lastTransitionTime"), now));
    vec![
        object.name(),
        object.at("spec.driver").into(),
        sum("totalDevices"),
        sum("availableDevices"),
        sum("allocatedDevices"),
        sum("unavailableDevices"),
        if counted { errors.to_string() } else { "-".to_owned() }.into(),
        pool_count.into(),
        state.into(),
        completed.unwrap_or_else(|| NONE.to_owned()).into(),
    ]
}
