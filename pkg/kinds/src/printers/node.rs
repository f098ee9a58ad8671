//! Rows of runtime classes.

use super::format::age;
use super::view::View;
use super::{Cell, Cells};
use apimachinery::time::UnixTime;

pub(super) fn printer(resource: &str) -> Option<Cells> {
    (resource == "runtimeclasses").then_some(runtime_class)
}

fn runtime_class(object: View<'_>, now: UnixTime) -> Vec<Cell<'_>> {
    vec![object.name(), object.get("handler").into(), age(object, now)]
}
