//! The kind `ConfigMap`.

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
        Column::text("Data", |object, _| (object.get("data").len() + object.get("binaryData").len()).into())
            .with_description_of("io.k8s.api.core.v1.ConfigMap", "data"),
        AGE,
    ]),
    gated: &[],
    strategy: &Common,
    rare_properties: RareProperties::NONE,
};
