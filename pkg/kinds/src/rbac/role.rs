//! The kind `Role`.

use crate::kind::{Columns, Kind, NO_DEFAULTS, RareProperties, Validation, WarningRules};
use crate::rbac::rules;
use crate::strategy::hooks::Common;
use api::name_rule::NameRule;

pub(crate) static KIND: Kind = Kind {
    names: NameRule::FinishedPathSegment,
    qualified_finalizers: true,
    defaults: NO_DEFAULTS,
    validation: Validation::Objects(rules::ROLES),
    warnings: WarningRules::NONE,
    columns: Columns::NameAndCreation,
    gated: &[],
    strategy: &Common,
    rare_properties: RareProperties::NONE,
};
