//! The kind `PodGroup`.

mod columns;
mod strategy;

use crate::defaults::fill::{default_struct, if_nil};
use crate::kind::{Columns, Kind, RareProperties, Validation, Version, WarningRules};
use crate::scheduling::{gated, groups};
use api::name_rule::NameRule;

pub(crate) static KIND: Kind = Kind {
    names: NameRule::DnsSubdomain,
    qualified_finalizers: true,
    defaults: &[Version::with_defaults("scheduling.k8s.io/v1alpha2", |group| {
        default_struct(group, "spec", |spec| if_nil(spec, "disruptionMode", "Pod"))
    })],
    validation: Validation::Objects(groups::GROUPS),
    warnings: WarningRules::NONE,
    columns: Columns::Custom(columns::COLUMNS),
    gated: gated::POD_GROUP,
    strategy: &strategy::PodGroups,
    rare_properties: RareProperties { resets: &[("", &[".status"])], ..RareProperties::NONE },
};
