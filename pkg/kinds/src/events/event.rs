//! The kind `Event`.

use crate::events::{columns, rules};
use crate::kind::{Columns, Exceptions, Kind, NO_DEFAULTS, Validation, WarningRules};
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
    exceptions: Exceptions::NONE,
};
