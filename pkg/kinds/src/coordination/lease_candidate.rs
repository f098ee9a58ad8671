//! The kind `LeaseCandidate`.

mod rules;

use crate::kind::{Columns, Kind, NO_DEFAULTS, RareProperties, Validation, WarningRules};
use crate::printers::column::{AGE, Column, NAME};
use crate::strategy::hooks::Common;
use api::name_rule::NameRule;

pub(crate) static KIND: Kind = Kind {
    names: NameRule::ConfigMapKey,
    qualified_finalizers: false,
    defaults: NO_DEFAULTS,
    validation: Validation::Objects(rules::RULES),
    warnings: WarningRules::NONE,
    columns: Columns::Custom(&[
        NAME,
        Column::text("LeaseName", |object, _| object.get_path("spec.leaseName").into())
            .with_description_of("io.k8s.api.coordination.v1alpha2.LeaseCandidateSpec", "leaseName"),
        Column::text("BinaryVersion", |object, _| object.get_path("spec.binaryVersion").into()),
        Column::text("EmulationVersion", |object, _| object.get_path("spec.emulationVersion").into()),
        AGE,
    ]),
    gated: &[],
    strategy: &Common,
    rare_properties: RareProperties::NONE,
};
