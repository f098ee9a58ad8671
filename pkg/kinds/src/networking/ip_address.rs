//! The kind `IPAddress`.

mod columns;

use crate::kind::{Columns, Kind, NO_DEFAULTS, Validation, WarningRules, WriteRules};
use crate::networking;
use crate::strategy::hooks::Common;
use api::name_rule::NameRule;

pub(crate) static KIND: Kind = Kind {
    names: NameRule::Ip,
    qualified_finalizers: true,
    defaults: NO_DEFAULTS,
    validation: Validation::Objects(networking::service_range::IP_ADDRESSES),
    warnings: WarningRules::NONE,
    columns: Columns::Own(columns::COLUMNS),
    gated: &[],
    strategy: &Common,
    writes: WriteRules::COMMON,
};
