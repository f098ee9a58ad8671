//! The kind `Secret`.

mod rules;
mod warnings;

use crate::defaults::fill::if_zero;
use crate::kind::{Columns, Kind, RareProperties, Validation, Version, WarningRules};
use crate::printers::column::{AGE, Column, NAME};
use crate::strategy::hooks::Common;
use api::name_rule::NameRule;

pub(crate) static KIND: Kind = Kind {
    names: NameRule::DnsSubdomain,
    qualified_finalizers: true,
    defaults: &[Version::with_defaults("v1", |secret| if_zero(secret, "type", "Opaque"))],
    validation: Validation::Objects(rules::RULES),
    warnings: WarningRules { create: warnings::secret, ..WarningRules::NONE },
    columns: Columns::Custom(&[
        NAME,
        Column::text("Type", |object, _| object.get("type").into())
            .with_description_of("io.k8s.api.core.v1.Secret", "type"),
        Column::text("Data", |object, _| object.get("data").count())
            .with_description_of("io.k8s.api.core.v1.Secret", "data"),
        AGE,
    ]),
    gated: &[],
    strategy: &Common,
    rare_properties: RareProperties::NONE,
};
