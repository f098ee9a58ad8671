//! Table columns of controller revisions.

use crate::printers::column::{AGE, Column, NAME};
use crate::printers::format::{NONE, group_resource};
use api::table::view::View;

pub(super) static COLUMNS: &[Column] = &[
    NAME,
    Column::text("Controller", |object, _| controller(object).into())
        .with_description("Controller of the object"),
    Column::text("Revision", |object, _| object.get("revision").int().into())
        .with_description_of("io.k8s.api.apps.v1.ControllerRevision", "revision"),
    AGE,
];

fn controller(object: View<'_>) -> String {
    let owner = object.get_path("metadata.ownerReferences").items().find(|o| o.get("controller").flag());
    owner.map_or(NONE.to_owned(), owner_name)
}

/// Returns `kind.group/name`, in lower case up to the slash.
fn owner_name(owner: View<'_>) -> String {
    let group = owner.get("apiVersion").text().split_once('/').map_or("", |(group, _)| group);
    let kind = owner.get("kind").text();
    let name = owner.get("name").text();
    if kind.is_empty() && group.is_empty() {
        return name.to_owned();
    }
    format!("{}/{name}", group_resource(group, kind).to_lowercase())
}
