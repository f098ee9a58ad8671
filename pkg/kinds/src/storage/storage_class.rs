//! The kind `StorageClass`.

mod columns;
mod defaults;
mod rules;
mod warnings;

use crate::kind::{Columns, Kind, RareProperties, Validation, Version, WarningRules};
use crate::strategy::hooks::Common;
use api::name_rule::NameRule;

pub(crate) static KIND: Kind = Kind {
    names: NameRule::DnsSubdomain,
    qualified_finalizers: true,
    defaults: &[
        Version::with_defaults("storage.k8s.io/v1", defaults::storage_class),
        Version::with_defaults("storage.k8s.io/v1beta1", defaults::storage_class),
    ],
    validation: Validation::Objects(rules::RULES),
    warnings: WarningRules { create: warnings::class, ..WarningRules::NONE },
    columns: Columns::Custom(columns::COLUMNS),
    gated: &[],
    strategy: &Common,
    rare_properties: RareProperties::NONE,
};
