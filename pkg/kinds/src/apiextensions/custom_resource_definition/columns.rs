//! Table columns of CRDs.

use crate::printers::column::{Column, NAME};
use crate::printers::{CREATED_AT, created_at};
use api::table::Cell;
use api::table::view::View;

pub(super) static COLUMNS: &[Column] = &[
    NAME,
    Column::text("Scope", |object, _| object.get_path("spec.scope").into())
        .with_description("Cluster/Namespaced"),
    Column::text("Versions", |object, _| served_versions(object)).with_description("Served versions"),
    Column::date(CREATED_AT, |object, _| created_at(object).into())
        .with_description_of("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta", "creationTimestamp"),
    Column::text("Group", |object, _| object.get_path("spec.group").into())
        .with_description("API group")
        .wide(),
    Column::text("Kind", |object, _| object.get_path("spec.names.kind").into())
        .with_description("CustomResource kind")
        .wide(),
    Column::text("ShortNames", |object, _| object.get_path("spec.names.shortNames").texts().join(",").into())
        .with_description("Short names")
        .wide(),
    Column::boolean("Established", |object, _| is_established(object).into())
        .with_description("Established status")
        .wide(),
];

/// Returns the names of the served versions in order; the storage version is marked.
fn served_versions(object: View<'_>) -> Cell<'static> {
    let served = object.get_path("spec.versions").items().filter(|version| version.get("served").flag());
    let label = |version: View<'_>| {
        let mark = if version.get("storage").flag() { "(storage)" } else { "" };
        format!("{}{mark}", version.get("name").text())
    };
    let mut labels: Vec<String> = served.map(label).collect();
    labels.sort_unstable();
    labels.join(",").into()
}

fn is_established(object: View<'_>) -> bool {
    let condition = object.get_path("status.conditions").condition("Established");
    condition.is_some_and(|condition| condition.get("status").text() == "True")
}
