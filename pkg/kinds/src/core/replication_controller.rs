//! The kind `ReplicationController`.

mod defaults;
mod warnings;

use crate::apps::replica_set;
use crate::kind::{Columns, Exceptions, Kind, OnUpdate, Validation, Version, WarningRules};
use crate::printers::column::{AGE, CONTAINERS, Column, IMAGES, NAME};
use crate::printers::format::labels;
use crate::strategy::gated::shared::TEMPLATE;
use crate::strategy::hooks::Common;
use api::name_rule::NameRule;

pub(crate) static KIND: Kind = Kind {
    names: NameRule::LongName,
    qualified_finalizers: true,
    defaults: &[Version::with("v1", defaults::replication_controller)],
    validation: Validation::Settings(replica_set::CONTROLLERS),
    warnings: WarningRules {
        create: crate::warnings::template::named_template,
        update: OnUpdate::Own(warnings::update),
        ..WarningRules::NONE
    },
    columns: Columns::Own(&[
        NAME,
        Column::integer("Desired", |object, _| object.at("spec.replicas").int().into())
            .described_as("io.k8s.api.core.v1.ReplicationControllerSpec", "replicas"),
        Column::integer("Current", |object, _| object.at("status.replicas").int().into())
            .described_as("io.k8s.api.core.v1.ReplicationControllerStatus", "replicas"),
        Column::integer("Ready", |object, _| object.at("status.readyReplicas").int().into())
            .described_as("io.k8s.api.core.v1.ReplicationControllerStatus", "readyReplicas"),
        AGE,
        CONTAINERS,
        IMAGES,
        Column::text("Selector", |object, _| labels(object.at("spec.selector")).into())
            .described_as("io.k8s.api.core.v1.ReplicationControllerSpec", "selector")
            .wide(),
    ]),
    gated: &[TEMPLATE],
    strategy: &Common,
    exceptions: Exceptions::NONE,
};
