//! Rows of flow schemas and priority levels.

use super::format::{NONE, age};
use super::view::View;
use super::{Cell, Cells};
use apimachinery::time::UnixTime;

pub(super) fn printer(resource: &str) -> Option<Cells> {
    Some(match resource {
        "flowschemas" => flow_schema,
        "prioritylevelconfigurations" => priority_level,
        _ => return None,
    })
}

fn flow_schema(object: View<'_>, now: UnixTime) -> Vec<Cell<'_>> {
    let spec = object.get("spec");
    let method = spec.get("distinguisherMethod");
    let dangling = object.at("status.conditions").condition("Dangling");
    vec![
        object.name(),
        spec.at("priorityLevelConfiguration.name").into(),
        spec.get("matchingPrecedence").int().into(),
        if method.exists() { method.get("type").text() } else { NONE }.into(),
        age(object, now),
        dangling.map_or("?", |condition| condition.get("status").text()).into(),
    ]
}

fn priority_level(object: View<'_>, now: UnixTime) -> Vec<Cell<'_>> {
    let limited = object.at("spec.limited");
    let queuing = limited.at("limitResponse.queuing");
    let number = |parent: View<'_>, name: &str| -> Cell<'static> {
        if parent.exists() { parent.get(name).int().into() } else { NONE.into() }
    };
    vec![
        object.name(),
        object.at("spec.type").into(),
        number(limited, "nominalConcurrencyShares"),
        number(queuing, "queues"),
        number(queuing, "handSize"),
        number(queuing, "queueLengthLimit"),
        age(object, now),
    ]
}
