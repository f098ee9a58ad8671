//! The kind `PodGroup`.

mod columns;
mod strategy;

use crate::defaults::fill::{if_nil, within};
use crate::kind::{Columns, Exceptions, Kind, Validation, Version, WarningRules};
use crate::scheduling::{gated, groups};
use api::name_rule::NameRule;

pub(crate) static KIND: Kind = Kind {
    names: NameRule::DnsSubdomain,
    qualified_finalizers: true,
    defaults: &[Version::with("scheduling.k8s.io/v1alpha2", |group| {
        within(group, "spec", |spec| if_nil(spec, "disruptionMode", "Pod"))
    })],
    validation: Validation::Objects(groups::GROUPS),
    warnings: WarningRules::NONE,
    columns: Columns::Own(columns::COLUMNS),
    gated: gated::POD_GROUP,
    strategy: &strategy::PodGroups,
    exceptions: Exceptions { resets: &[("", &[".status"])], ..Exceptions::NONE },
};
