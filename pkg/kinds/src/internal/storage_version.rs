//! The kind `StorageVersion`.

mod columns;

use crate::kind::{Columns, Kind, NO_DEFAULTS, RareProperties, Validation, WarningRules};
use crate::strategy::hooks::Common;
use api::name_rule::NameRule;

pub(crate) static KIND: Kind = Kind {
    names: NameRule::GroupAndResource,
    qualified_finalizers: true,
    defaults: NO_DEFAULTS,
    // Off by default. Only the metadata is validated so far.
    validation: Validation::Metadata,
    warnings: WarningRules::NONE,
    columns: Columns::Custom(columns::COLUMNS),
    gated: &[],
    strategy: &Common,
    rare_properties: RareProperties::NONE,
};
