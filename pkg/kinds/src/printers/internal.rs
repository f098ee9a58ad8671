//! Rows of storage versions, which API servers report to each other.

use super::format::{UNSET, age, list_with_more};
use super::view::View;
use super::{Cell, Cells};
use apimachinery::time::UnixTime;

pub(super) fn printer(resource: &str) -> Option<Cells> {
    (resource == "storageversions").then_some(storage_version)
}

fn storage_version(object: View<'_>, now: UnixTime) -> Vec<Cell<'_>> {
    let status = object.get("status");
    let version = |version: View<'_>| {
        format!("{}={}", version.get("apiServerID").text(), version.get("encodingVersion").text())
    };
    let versions: Vec<String> = status.get("storageVersions").items().map(version).collect();
    let versions = if versions.is_empty() { UNSET.to_owned() } else { list_with_more(&versions, 3, ",") };
    vec![
        object.name(),
        status.get("commonEncodingVersion").text_or(UNSET).into(),
        versions.into(),
        age(object, now),
    ]
}
