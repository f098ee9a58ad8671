//! Table columns of priority level configurations.

use crate::printers::column::{AGE, Column, NAME};
use crate::printers::format::NONE;
use api::table::Cell;
use api::table::view::View;

pub(super) static COLUMNS: &[Column] = &[
    NAME,
    Column::text("Type", |object, _| object.get_path("spec.type").into())
        .with_description_of("io.k8s.api.flowcontrol.v1.PriorityLevelConfigurationSpec", "type"),
    Column::text("NominalConcurrencyShares", |object, _| {
        number(object.get_path(LIMITED), "nominalConcurrencyShares")
    })
    .with_description_of(
        "io.k8s.api.flowcontrol.v1.LimitedPriorityLevelConfiguration",
        "nominalConcurrencyShares",
    ),
    Column::text("Queues", |object, _| number(object.get_path(QUEUING), "queues"))
        .with_description_of("io.k8s.api.flowcontrol.v1.QueuingConfiguration", "queues"),
    Column::text("HandSize", |object, _| number(object.get_path(QUEUING), "handSize"))
        .with_description_of("io.k8s.api.flowcontrol.v1.QueuingConfiguration", "handSize"),
    Column::text("QueueLengthLimit", |object, _| number(object.get_path(QUEUING), "queueLengthLimit"))
        .with_description_of("io.k8s.api.flowcontrol.v1.QueuingConfiguration", "queueLengthLimit"),
    AGE,
];

const LIMITED: &str = "spec.limited";

const QUEUING: &str = "spec.limited.limitResponse.queuing";

fn number(parent: View<'_>, name: &str) -> Cell<'static> {
    if parent.exists() { parent.get(name).int().into() } else { NONE.into() }
}
