//! Table columns of API services.

use crate::printers::column::{AGE, Column, NAME};
use api::table::view::View;

pub(super) static COLUMNS: &[Column] = &[
    NAME,
    Column::text("Service", |object, _| service(object).into())
        .with_description("The reference to the service that hosts this API endpoint."),
    Column::text("Available", |object, _| available(object).into())
        .with_description("Whether this service is available."),
    AGE,
];

fn service(object: View<'_>) -> String {
    let service = object.get_path("spec.service");
    if !service.exists() {
        return "Local".to_owned();
    }
    format!("{}/{}", service.get("namespace").text(), service.get("name").text())
}

fn available(object: View<'_>) -> String {
    let Some(condition) = object.get_path("status.conditions").condition("Available") else {
        return "Unknown".to_owned();
    };
    match (condition.get("status").text(), condition.get("reason").text()) {
        (status @ "True", _) | (status, "") => status.to_owned(),
        (status, reason) => format!("{status} ({reason})"),
    }
}
