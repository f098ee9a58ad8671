//! Rows of disruption budgets.

use super::format::age;
use super::view::View;
use super::{Cell, Cells};
use apimachinery::time::UnixTime;
use std::borrow::Cow;

pub(super) fn printer(resource: &str) -> Option<Cells> {
    (resource == "poddisruptionbudgets").then_some(disruption_budget)
}

fn disruption_budget(object: View<'_>, now: UnixTime) -> Vec<Cell<'_>> {
    vec![
        object.name(),
        int_or_string(object.at("spec.minAvailable")).into(),
        int_or_string(object.at("spec.maxUnavailable")).into(),
        object.at("status.disruptionsAllowed").int().into(),
        age(object, now),
    ]
}

fn int_or_string(field: View<'_>) -> String {
    field.scalar().map_or_else(|| "N/A".to_owned(), Cow::into_owned)
}
