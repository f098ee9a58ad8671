//! Table columns of flow schemas.

use crate::printers::column::{AGE, Column, NAME};
use crate::printers::format::NONE;
use api::table::view::View;

pub(super) static COLUMNS: &[Column] = &[
    NAME,
    Column::text("PriorityLevel", |object, _| object.get_path("spec.priorityLevelConfiguration.name").into())
        .with_description_of("io.k8s.api.flowcontrol.v1.PriorityLevelConfigurationReference", "name"),
    Column::text("MatchingPrecedence", |object, _| object.get_path("spec.matchingPrecedence").int().into())
        .with_description_of("io.k8s.api.flowcontrol.v1.FlowSchemaSpec", "matchingPrecedence"),
    Column::text("DistinguisherMethod", |object, _| distinguisher(object).into())
        .with_description_of("io.k8s.api.flowcontrol.v1.FlowSchemaSpec", "distinguisherMethod"),
    AGE,
    Column::text("MissingPL", |object, _| missing_priority_level(object).into())
        .with_description("references a broken or non-existent PriorityLevelConfiguration"),
];

fn distinguisher<'a>(schema: View<'a>) -> &'a str {
    let method = schema.get_path("spec.distinguisherMethod");
    if method.exists() { method.get("type").text() } else { NONE }
}

fn missing_priority_level<'a>(schema: View<'a>) -> &'a str {
    let dangling = schema.get_path("status.conditions").condition("Dangling");
    dangling.map_or("?", |condition| condition.get("status").text())
}
