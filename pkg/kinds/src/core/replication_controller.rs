//! The kind `ReplicationController`.

mod defaults;
mod warnings;

use crate::apps::replica_set;
use crate::kind::{Columns, Kind, OnUpdate, RareProperties, Validation, Version, WarningRules};
use crate::printers::column::{AGE, CONTAINERS, Column, IMAGES, NAME};
use crate::printers::format::labels;
use crate::strategy::gated::shared::{TEMPLATE, TEMPLATE_ANNOTATIONS};
use crate::strategy::hooks::Common;
use api::name_rule::NameRule;

pub(crate) static KIND: Kind = Kind {
    names: NameRule::LongName,
    qualified_finalizers: true,
    defaults: &[Version::with_defaults("v1", defaults::replication_controller)],
    validation: Validation::Settings(replica_set::CONTROLLERS),
    warnings: WarningRules {
        create: crate::warnings::template::named_template,
        update: OnUpdate::Custom(warnings::update),
        ..WarningRules::NONE
    },
    columns: Columns::Custom(&[
        NAME,
        Column::integer("Desired", |object, _| object.get_path("spec.replicas").int().into())
            .with_description_of("io.k8s.api.core.v1.ReplicationControllerSpec", "replicas"),
        Column::integer("Current", |object, _| object.get_path("status.replicas").int().into())
            .with_description_of("io.k8s.api.core.v1.ReplicationControllerStatus", "replicas"),
        Column::integer("Ready", |object, _| object.get_path("status.readyReplicas").int().into())
            .with_description_of("io.k8s.api.core.v1.ReplicationControllerStatus", "readyReplicas"),
        AGE,
        CONTAINERS,
        IMAGES,
        Column::text("Selector", |object, _| labels(object.get_path("spec.selector")).into())
            .with_description_of("io.k8s.api.core.v1.ReplicationControllerSpec", "selector")
            .wide(),
    ]),
    gated: &[TEMPLATE_ANNOTATIONS, TEMPLATE],
    strategy: &Common,
    rare_properties: RareProperties::NONE,
};
