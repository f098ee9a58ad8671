//! Rows of disruption budgets.

use super::column::{AGE, Column, NAME, integer, text};
use super::view::View;

use std::borrow::Cow;

pub(super) static POD_DISRUPTION_BUDGET: &[Column] = &[
    NAME,
    text("Min Available", |object, _| int_or_string(object.at("spec.minAvailable")).into())
        .described("The minimum number of pods that must be available."),
    text("Max Unavailable", |object, _| int_or_string(object.at("spec.maxUnavailable")).into())
        .described("The maximum number of pods that may be unavailable."),
    integer("Allowed Disruptions", |object, _| object.at("status.disruptionsAllowed").int().into())
        .described("Calculated number of pods that may be disrupted at this time."),
    AGE,
];

fn int_or_string(field: View<'_>) -> String {
    field.scalar().map_or_else(|| "N/A".to_owned(), Cow::into_owned)
}
