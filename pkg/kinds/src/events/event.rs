//! The kind `Event`.

use crate::events::{columns, rules};
use crate::kind::{Columns, Kind, NO_DEFAULTS, RareProperties, Validation, WarningRules};
use crate::strategy::hooks::Common;
use api::name_rule::NameRule;

pub(crate) static KIND: Kind = Kind {
    names: NameRule::DnsSubdomain,
    qualified_finalizers: true,
    defaults: NO_DEFAULTS,
    validation: Validation::Objects(rules::EVENTS),
    warnings: WarningRules::NONE,
    columns: Columns::Custom(columns::EVENTS),
    gated: &[],
    strategy: &Common,
    rare_properties: RareProperties::NONE,
};
