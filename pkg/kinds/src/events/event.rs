//! The kind `Event`.

use crate::events::{columns, rules};
use crate::kind::{Columns, Kind, NO_DEFAULTS, Validation, WarningRules, WriteRules};
use crate::strategy::hooks::Common;
use api::name_rule::NameRule;

pub(crate) static KIND: Kind = Kind {
    names: NameRule::DnsSubdomain,
    qualified_finalizers: true,
    defaults: NO_DEFAULTS,
    validation: Validation::Objects(rules::EVENTS),
    warnings: WarningRules::NONE,
    columns: Columns::Own(columns::EVENTS),
    gated: &[],
    strategy: &Common,
    writes: WriteRules::COMMON,
};
