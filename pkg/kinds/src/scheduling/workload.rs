//! The kind `Workload`.

use crate::kind::{Columns, Kind, NO_DEFAULTS, RareProperties, Validation, WarningRules};
use crate::printers::column::{AGE, NAME};
use crate::scheduling::{gated, groups};
use crate::strategy::hooks::Common;
use api::name_rule::NameRule;

pub(crate) static KIND: Kind = Kind {
    names: NameRule::DnsSubdomain,
    qualified_finalizers: true,
    defaults: NO_DEFAULTS,
    validation: Validation::Objects(groups::WORKLOADS),
    warnings: WarningRules::NONE,
    columns: Columns::Custom(&[NAME, AGE]),
    gated: gated::WORKLOAD,
    strategy: &Common,
    rare_properties: RareProperties::NONE,
};
