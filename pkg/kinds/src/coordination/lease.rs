//! The kind `Lease`.

mod rules;

use crate::kind::{Columns, Kind, NO_DEFAULTS, RareProperties, Validation, WarningRules};
use crate::printers::column::{AGE, Column, NAME};
use crate::strategy::gated::fields::{gated_by, gated_path};
use crate::strategy::hooks::Common;
use api::name_rule::NameRule;
use component_base::features::Gate;

pub(crate) static KIND: Kind = Kind {
    names: NameRule::DnsSubdomain,
    qualified_finalizers: false,
    defaults: NO_DEFAULTS,
    validation: Validation::Objects(rules::RULES),
    warnings: WarningRules::NONE,
    columns: Columns::Custom(&[
        NAME,
        Column::text("Holder", |object, _| object.get_path("spec.holderIdentity").into())
            .with_description_of("io.k8s.api.coordination.v1.LeaseSpec", "holderIdentity"),
        AGE,
    ]),
    gated: &[gated_path(
        &["spec"],
        &[
            gated_by(Gate::CoordinatedLeaderElection, &[&["strategy"]]),
            gated_by(Gate::CoordinatedLeaderElection, &[&["preferredHolder"]]),
        ],
    )],
    strategy: &Common,
    rare_properties: RareProperties::NONE,
};
