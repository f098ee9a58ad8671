//! Rows of aggregated API services.

use super::format::age;
use super::view::View;
use super::{Cell, Cells};
use apimachinery::time::UnixTime;

pub(super) fn printer(resource: &str) -> Option<Cells> {
    (resource == "apiservices").then_some(api_service)
}

fn api_service(object: View<'_>, now: UnixTime) -> Vec<Cell<'_>> {
    let service = object.at("spec.service");
    let service = if service.exists() {
        format!("{}/{}", service.get("namespace").text(), service.get("name").text())
    } else {
        "Local".to_owned()
    };
    vec![object.name(), service.into(), available(object).into(), age(object, now)]
}

fn available(object: View<'_>) -> String {
    let Some(condition) = object.at("status.conditions").condition("Available") else {
        return "Unknown".to_owned();
    };
    match (condition.get("status").text(), condition.get("reason").text()) {
        (status @ "True", _) | (status, "") => status.to_owned(),
        (status, reason) => format!("{status} ({reason})"),
    }
}
