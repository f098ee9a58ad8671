//! The kind `DeviceTaintRule`.

mod columns;
mod strategy;

use crate::kind::{Columns, Kind, NO_DEFAULTS, RareProperties, Validation, WarningRules};
use crate::resource::{defaults, device};
use api::name_rule::NameRule;

pub(crate) static KIND: Kind = Kind {
    names: NameRule::DnsSubdomain,
    qualified_finalizers: true,
    // The only default is the time, see `times`.
    defaults: NO_DEFAULTS,
    validation: Validation::Objects(device::TAINT_RULES),
    warnings: WarningRules::NONE,
    columns: Columns::Custom(columns::COLUMNS),
    gated: &[],
    strategy: &strategy::DeviceTaintRules,
    rare_properties: RareProperties {
        times: &[
            ("resource.k8s.io/v1", defaults::stamp_rule),
            ("resource.k8s.io/v1alpha3", defaults::stamp_rule),
            ("resource.k8s.io/v1beta2", defaults::stamp_rule),
        ],
        ..RareProperties::NONE
    },
};
