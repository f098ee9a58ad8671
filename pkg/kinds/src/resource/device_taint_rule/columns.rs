//! Table columns of device taint rules.

use crate::printers::column::{AGE, Column, NAME};
use crate::printers::format::since;
use api::table::view::View;
use apimachinery::time::UnixTime;

pub(super) static COLUMNS: &[Column] = &[
    NAME,
    Column::text("Key", |object, _| object.get_path("spec.taint.key").into())
        .with_description_of("io.k8s.api.resource.v1.DeviceTaint", "key"),
    Column::text("Value", |object, _| object.get_path("spec.taint.value").into())
        .with_description_of("io.k8s.api.resource.v1.DeviceTaint", "value"),
    Column::text("Effect", |object, _| object.get_path("spec.taint.effect").into())
        .with_description_of("io.k8s.api.resource.v1.DeviceTaint", "effect"),
    Column::text("TimeAdded", |object, now| time_added(object, now).into())
        .with_description_of("io.k8s.api.resource.v1.DeviceTaint", "timeAdded"),
    AGE,
];

fn time_added(rule: View<'_>, now: UnixTime) -> String {
    let added = rule.get_path("spec.taint.timeAdded");
    if added.exists() { since(added, now) } else { String::new() }
}
