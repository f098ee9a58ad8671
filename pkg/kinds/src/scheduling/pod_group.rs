//! The kind `PodGroup`.

mod columns;
mod strategy;

pub(super) use columns::{policy, workload};

use crate::defaults::fill::{default_struct, if_nil};
use crate::defaults::object::Object;
use crate::kind::{Columns, Kind, RareProperties, Validation, Version, WarningRules};
use crate::scheduling::{gated, groups};
use api::name_rule::NameRule;
use component_base::features::Gate;
use jsontree::json;

pub(crate) static KIND: Kind = Kind {
    names: NameRule::DnsSubdomain,
    qualified_finalizers: true,
    defaults: &[
        Version::with_defaults("scheduling.k8s.io/v1alpha3", defaults),
        Version::with_defaults("scheduling.k8s.io/v1beta1", defaults),
    ],
    validation: Validation::Objects(groups::GROUPS),
    warnings: WarningRules::NONE,
    columns: Columns::Custom(columns::COLUMNS),
    gated: gated::POD_GROUP,
    strategy: &strategy::PodGroups,
    rare_properties: RareProperties::NONE,
};

/// Sets the defaults of pod groups and of composite pod groups.
pub(super) fn defaults(group: &mut Object) {
    default_struct(group, "spec", |spec| {
        if spec.enabled(Gate::PodGroupPreemptionPolicy) {
            if_nil(spec, "preemptionPolicy", "PreemptLowerPriority");
        }
        if_nil(spec, "disruptionMode", json!({"single": {}}));
    });
}
