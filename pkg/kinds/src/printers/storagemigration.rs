//! Rows of storage version migrations.

use super::format::group_resource;
use super::view::View;
use super::{Cell, Cells};
use apimachinery::time::UnixTime;

pub(super) fn printer(resource: &str) -> Option<Cells> {
    (resource == "storageversionmigrations").then_some(migration)
}

fn migration(object: View<'_>, _: UnixTime) -> Vec<Cell<'_>> {
    let resource = object.at("spec.resource");
    let is_state = |condition: &View<'_>| {
        condition.get("status").text() == "True"
            && matches!(condition.get("type").text(), "Running" | "Failed" | "Succeeded")
    };
    let state = object.at("status.conditions").items().filter(is_state).last();
    vec![
        object.name(),
        group_resource(resource.get("group").text(), resource.get("resource").text()).into(),
        state.map_or("Unknown", |condition| condition.get("type").text()).into(),
    ]
}
