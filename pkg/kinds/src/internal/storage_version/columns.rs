//! Table columns of storage versions.

use crate::printers::column::{AGE, Column, NAME};
use crate::printers::format::{UNSET, list_with_more};
use api::table::view::View;

pub(super) static COLUMNS: &[Column] = &[
    NAME,
    Column::text("CommonEncodingVersion", |object, _| {
        object.get_path("status.commonEncodingVersion").text_or(UNSET).into()
    })
    .with_description_of(
        "io.k8s.api.apiserverinternal.v1alpha1.StorageVersionStatus",
        "commonEncodingVersion",
    ),
    Column::text("StorageVersions", |object, _| versions(object).into())
        .with_description_of("io.k8s.api.apiserverinternal.v1alpha1.StorageVersionStatus", "storageVersions"),
    AGE,
];

fn versions(object: View<'_>) -> String {
    let version = |version: View<'_>| {
        format!("{}={}", version.get("apiServerID").text(), version.get("encodingVersion").text())
    };
    let versions: Vec<String> = object.get_path("status.storageVersions").items().map(version).collect();
    if versions.is_empty() { UNSET.to_owned() } else { list_with_more(&versions, 3, ",") }
}
