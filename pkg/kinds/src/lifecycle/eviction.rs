//! The kind `Eviction` of `lifecycle.k8s.io`. The eviction subresource of pods is another kind, of `policy`.

mod columns;
mod items;
mod responders;
mod status;
mod targets;
mod times;

use crate::kind::{Columns, Kind, NO_DEFAULTS, RareProperties, Validation, WarningRules};
use crate::strategy::hooks::Common;
use api::name_rule::NameRule;

pub(crate) static KIND: Kind = Kind {
    names: NameRule::LongName,
    qualified_finalizers: true,
    defaults: NO_DEFAULTS,
    validation: Validation::Settings(status::RULES),
    warnings: WarningRules::NONE,
    columns: Columns::Custom(columns::COLUMNS),
    gated: &[],
    strategy: &Common,
    rare_properties: RareProperties::NONE,
};
