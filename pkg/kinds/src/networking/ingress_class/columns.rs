//! Table columns of ingress classes.

use crate::printers::column::{AGE, Column, NAME};
use crate::printers::format::{NONE, name_of_class};
use api::table::view::View;

pub(super) static COLUMNS: &[Column] = &[
    NAME.filled_by(|object, _| name_of_class(object, "ingressclass.kubernetes.io/is-default-class")),
    Column::text("Controller", |object, _| object.get_path("spec.controller").into())
        .with_description("Controller that is responsible for handling this class"),
    Column::text("Parameters", |object, _| parameters(object.get_path("spec.parameters")).into())
        .with_description("A reference to a resource with additional parameters"),
    AGE,
];

fn parameters(parameters: View<'_>) -> String {
    if !parameters.exists() {
        return NONE.to_owned();
    }
    let kind = parameters.get("kind").text();
    let name = parameters.get("name").text();
    let group = parameters.get("apiGroup");
    let dot = if group.exists() { "." } else { "" };
    format!("{kind}{dot}{}/{name}", group.text())
}
