//! Rows of runtime classes.

use super::Cell;
use super::Cells;
use super::format::age;
use super::view::View;
use apimachinery::time::UnixTime;

pub(super) fn printer(resource: &str) -> Option<Cells> {
    (resource == "runtimeclasses").then_some(runtime_class)
}

fn runtime_class(object: View<'_>, now: UnixTime) -> Vec<Cell<'_>> {
    vec![object.name(), object.get("handler").into(), age(object, now)]
}
