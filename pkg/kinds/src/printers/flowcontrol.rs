//! Rows of flow schemas and priority levels.

use super::Cell;
use super::column::{AGE, Column, NAME, text};
use super::format::NONE;
use super::view::View;

pub(super) static FLOW_SCHEMA: &[Column] = &[
    NAME,
    text("PriorityLevel", |object, _| object.at("spec.priorityLevelConfiguration.name").into())
        .described_as("io.k8s.api.flowcontrol.v1.PriorityLevelConfigurationReference", "name"),
    text("MatchingPrecedence", |object, _| object.at("spec.matchingPrecedence").int().into())
        .described_as("io.k8s.api.flowcontrol.v1.FlowSchemaSpec", "matchingPrecedence"),
    text("DistinguisherMethod", |object, _| distinguisher(object).into())
        .described_as("io.k8s.api.flowcontrol.v1.FlowSchemaSpec", "distinguisherMethod"),
    AGE,
    text("MissingPL", |object, _| missing_priority_level(object).into())
        .described("references a broken or non-existent PriorityLevelConfiguration"),
];

pub(super) static PRIORITY_LEVEL_CONFIGURATION: &[Column] = &[
    NAME,
    text("Type", |object, _| object.at("spec.type").into())
        .described_as("io.k8s.api.flowcontrol.v1.PriorityLevelConfigurationSpec", "type"),
    text("NominalConcurrencyShares", |object, _| number(object.at(LIMITED), "nominalConcurrencyShares"))
        .described_as(
            "io.k8s.api.flowcontrol.v1.LimitedPriorityLevelConfiguration",
            "nominalConcurrencyShares",
        ),
    text("Queues", |object, _| number(object.at(QUEUING), "queues"))
        .described_as("io.k8s.api.flowcontrol.v1.QueuingConfiguration", "queues"),
    text("HandSize", |object, _| number(object.at(QUEUING), "handSize"))
        .described_as("io.k8s.api.flowcontrol.v1.QueuingConfiguration", "handSize"),
    text("QueueLengthLimit", |object, _| number(object.at(QUEUING), "queueLengthLimit"))
        .described_as("io.k8s.api.flowcontrol.v1.QueuingConfiguration", "queueLengthLimit"),
    AGE,
];

const LIMITED: &str = "spec.limited";
const QUEUING: &str = "spec.limited.limitResponse.queuing";

fn distinguisher<'a>(schema: View<'a>) -> &'a str {
    let method = schema.at("spec.distinguisherMethod");
    if method.exists() { method.get("type").text() } else { NONE }
}

fn missing_priority_level<'a>(schema: View<'a>) -> &'a str {
    let dangling = schema.at("status.conditions").condition("Dangling");
    dangling.map_or("?", |condition| condition.get("status").text())
}

fn number(parent: View<'_>, name: &str) -> Cell<'static> {
    if parent.exists() { parent.get(name).int().into() } else { NONE.into() }
}
