//! Table columns of IP addresses.

use crate::printers::column::{AGE, Column, NAME};
use crate::printers::format::{NONE, group_resource};
use api::table::view::View;

pub(super) static COLUMNS: &[Column] = &[
    NAME,
    Column::text("ParentRef", |object, _| parent(object.get_path("spec.parentRef")).into())
        .with_description_of("io.k8s.api.networking.v1.IPAddressSpec", "parentRef"),
    // Upstream prints the age and declares no column for it.
    AGE.undeclared(),
];

/// `resource.group/namespace/name`
fn parent(parent: View<'_>) -> String {
    if !parent.exists() {
        return NONE.to_owned();
    }
    let resource = group_resource(parent.get("group").text(), parent.get("resource").text());
    let name = parent.get("name").text();
    match parent.get("namespace").text() {
        "" => format!("{}/{name}", resource.to_lowercase()),
        namespace => format!("{}/{namespace}/{name}", resource.to_lowercase()),
    }
}
