//! The kind `ServiceCIDR`.

mod rules;

use crate::kind::{Columns, Kind, NO_DEFAULTS, RareProperties, Validation, WarningRules};
use crate::printers::column::{AGE, Column, NAME};
use crate::strategy::hooks::Common;
use api::name_rule::NameRule;

pub(crate) static KIND: Kind = Kind {
    names: NameRule::DnsSubdomain,
    qualified_finalizers: true,
    defaults: NO_DEFAULTS,
    validation: Validation::Objects(rules::RULES),
    warnings: WarningRules::NONE,
    columns: Columns::Custom(&[
        NAME,
        Column::text("CIDRs", |object, _| object.get_path("spec.cidrs").texts().join(",").into())
            .with_description_of("io.k8s.api.networking.v1.ServiceCIDRSpec", "cidrs"),
        AGE,
    ]),
    gated: &[],
    strategy: &Common,
    rare_properties: RareProperties::NONE,
};
