//! Table columns of pod disruption budgets.

use crate::printers::column::{AGE, Column, NAME};
use api::table::view::View;
use std::borrow::Cow;

pub(super) static COLUMNS: &[Column] = &[
    NAME,
    Column::text("Min Available", |object, _| int_or_string(object.get_path("spec.minAvailable")).into())
        .with_description("The minimum number of pods that must be available."),
    Column::text("Max Unavailable", |object, _| int_or_string(object.get_path("spec.maxUnavailable")).into())
        .with_description("The maximum number of pods that may be unavailable."),
    Column::integer("Allowed Disruptions", |object, _| {
        object.get_path("status.disruptionsAllowed").int().into()
    })
    .with_description("Calculated number of pods that may be disrupted at this time."),
    AGE,
];

fn int_or_string(field: View<'_>) -> String {
    field.scalar().map_or_else(|| "N/A".to_owned(), Cow::into_owned)
}
