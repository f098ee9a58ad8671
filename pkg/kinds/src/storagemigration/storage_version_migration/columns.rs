//! Table columns of storage version migrations.

use crate::printers::column::{Column, NAME};
use crate::printers::format::group_resource;
use api::table::view::View;

pub(super) static COLUMNS: &[Column] = &[
    NAME.format(""),
    Column::text("Resource", |object, _| migrated(object).into()).described("GroupResource to migrate"),
    Column::text("Status", |object, _| state(object).into()).described("Status of the migration"),
];

fn migrated(migration: View<'_>) -> String {
    let resource = migration.at("spec.resource");
    group_resource(resource.get("group").text(), resource.get("resource").text())
}

fn state<'a>(migration: View<'a>) -> &'a str {
    let is_state = |condition: &View<'_>| {
        condition.get("status").text() == "True"
            && matches!(condition.get("type").text(), "Running" | "Failed" | "Succeeded")
    };
    let state = migration.at("status.conditions").items().filter(is_state).last();
    state.map_or("Unknown", |condition| condition.get("type").text())
}
