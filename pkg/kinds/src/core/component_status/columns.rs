//! Table columns of component statuses.

use crate::printers::column::{Column, NAME};
use api::table::view::View;

pub(super) static COLUMNS: &[Column] = &[
    NAME,
    Column::text("Status", |object, _| health(object).into())
        .with_description("Status of the component conditions"),
    Column::text("Message", |object, _| healthy_condition(object).get("message").into())
        .with_description("Message of the component conditions"),
    Column::text("Error", |object, _| healthy_condition(object).get("error").into())
        .with_description("Error of the component conditions"),
];

fn healthy_condition<'a>(status: View<'a>) -> View<'a> {
    status.get("conditions").condition("Healthy").unwrap_or_default()
}

fn health(status: View<'_>) -> &'static str {
    match status.get("conditions").condition("Healthy").map(|condition| condition.get("status").text()) {
        Some("True") => "Healthy",
        Some(_) => "Unhealthy",
        None => "Unknown",
    }
}
