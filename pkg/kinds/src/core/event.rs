//! The kind `Event`.

use crate::events::{columns, rules};
use crate::kind::{Columns, Kind, NO_DEFAULTS, RareProperties, Validation, WarningRules};
use crate::strategy::hooks::Common;
use api::name_rule::NameRule;

pub(crate) static KIND: Kind = Kind {
    names: NameRule::PathSegment,
    qualified_finalizers: false,
    defaults: NO_DEFAULTS,
    validation: Validation::Objects(rules::CORE),
    warnings: WarningRules::NONE,
    columns: Columns::Custom(columns::CORE),
    gated: &[],
    strategy: &Common,
    rare_properties: RareProperties::NONE,
};
