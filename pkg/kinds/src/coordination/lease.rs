//! The kind `Lease`.

mod rules;

use crate::kind::{Columns, Exceptions, Kind, NO_DEFAULTS, Validation, WarningRules};
use crate::printers::column::{AGE, Column, NAME};
use crate::strategy::gated::fields::{behind, place};
use crate::strategy::hooks::Common;
use api::name_rule::NameRule;
use component_base::features::Gate;

pub(crate) static KIND: Kind = Kind {
    names: NameRule::DnsSubdomain,
    qualified_finalizers: false,
    defaults: NO_DEFAULTS,
    validation: Validation::Objects(rules::RULES),
    warnings: WarningRules::NONE,
    columns: Columns::Own(&[
        NAME,
        Column::text("Holder", |object, _| object.at("spec.holderIdentity").into())
            .described_as("io.k8s.api.coordination.v1.LeaseSpec", "holderIdentity"),
        AGE,
    ]),
    gated: &[place(
        &["spec"],
        &[
            behind(Gate::CoordinatedLeaderElection, &[&["strategy"]]),
            behind(Gate::CoordinatedLeaderElection, &[&["preferredHolder"]]),
        ],
    )],
    strategy: &Common,
    exceptions: Exceptions::NONE,
};
