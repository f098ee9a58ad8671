//! Table columns of storage version migrations.

use crate::printers::column::{Column, NAME};
use crate::printers::format::group_resource;
use api::table::view::View;

pub(super) static COLUMNS: &[Column] = &[
    NAME.format(""),
    Column::text("Resource", |object, _| migrated(object).into())
        .with_description("GroupResource to migrate"),
    Column::text("Status", |object, _| state(object).into()).with_description("Status of the migration"),
];

fn migrated(migration: View<'_>) -> String {
    let resource = migration.get_path("spec.resource");
    group_resource(resource.get("group").text(), resource.get("resource").text())
}

fn state<'a>(migration: View<'a>) -> &'a str {
    let is_state = |condition: &View<'_>| {
        condition.get("status").text() == "True"
            && matches!(condition.get("type").text(), "Running" | "Failed" | "Succeeded")
    };
    let state = migration.get_path("status.conditions").items().filter(is_state).last();
    state.map_or("Unknown", |condition| condition.get("type").text())
}
