//! The kind `LeaseCandidate`.

mod rules;

use crate::kind::{Columns, Exceptions, Kind, NO_DEFAULTS, Validation, WarningRules};
use crate::printers::column::{AGE, Column, NAME};
use crate::strategy::hooks::Common;
use api::name_rule::NameRule;

pub(crate) static KIND: Kind = Kind {
    names: NameRule::ConfigMapKey,
    qualified_finalizers: false,
    defaults: NO_DEFAULTS,
    validation: Validation::Objects(rules::RULES),
    warnings: WarningRules::NONE,
    columns: Columns::Own(&[
        NAME,
        Column::text("LeaseName", |object, _| object.at("spec.leaseName").into())
            .described_as("io.k8s.api.coordination.v1alpha2.LeaseCandidateSpec", "leaseName"),
        Column::text("BinaryVersion", |object, _| object.at("spec.binaryVersion").into()),
        Column::text("EmulationVersion", |object, _| object.at("spec.emulationVersion").into()),
        AGE,
    ]),
    gated: &[],
    strategy: &Common,
    exceptions: Exceptions::NONE,
};
