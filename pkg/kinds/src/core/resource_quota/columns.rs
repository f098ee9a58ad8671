//! Table columns of resource quotas.

use crate::printers::column::{AGE, Column, NAME};
use crate::printers::format::quantity;
use api::table::Cell;
use api::table::view::View;
use apimachinery::time::UnixTime;
use std::collections::BTreeMap;

pub(super) static COLUMNS: &[Column] = &[
    NAME,
    Column::text_of_several("Request", quota_usage).with_description("Request represents a minimum amount of cpu/memory that a container may consume."),
    Column::text_of_previous("Limit").with_description("Limits control the maximum amount of cpu/memory that a container may use independent of contention on the node."),
    AGE,
];

/// Prints `used/hard` of every resource. Resources named `limits.…` have their own column.
fn quota_usage<'a>(quota: View<'a>, _: UnixTime, cells: &mut Vec<Cell<'a>>) {
    let mut requests = Vec::new();
    let mut limits = Vec::new();
    let used: BTreeMap<&str, View<'_>> = quota.get_path("status.used").entries().collect();
    for (resource, hard) in quota.get_path("status.hard").entries() {
        let text = format!(
            "{resource}: {}/{}",
            quantity(used.get(resource).copied().unwrap_or_default()),
            quantity(hard)
        );
        if resource.starts_with("limits.") { limits.push(text) } else { requests.push(text) }
    }
    cells.extend([requests.join(", ").into(), limits.join(", ").into()]);
}
