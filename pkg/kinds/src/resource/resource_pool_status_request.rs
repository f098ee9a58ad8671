//! The kind `ResourcePoolStatusRequest`.

mod columns;
mod rules;

use crate::defaults::fill::{default_struct, if_nil};
use crate::kind::{Columns, Kind, RareProperties, Validation, Version, WarningRules};
use crate::strategy::gated::fields::{gated_by, gated_path};
use crate::strategy::hooks::Common;
use api::name_rule::NameRule;
use component_base::features::Gate;

pub(crate) static KIND: Kind = Kind {
    names: NameRule::DnsSubdomain,
    qualified_finalizers: true,
    defaults: &[Version::with_defaults("resource.k8s.io/v1alpha3", |request| {
        default_struct(request, "spec", |spec| if_nil(spec, "limit", 100))
    })],
    validation: Validation::Objects(rules::RULES),
    warnings: WarningRules::NONE,
    columns: Columns::Custom(columns::COLUMNS),
    gated: &[gated_path(
        &["spec"],
        &[gated_by(Gate::DRAPartitionableDevicesType, &[&["defaultPartitionTypeAttribute"]])],
    )],
    strategy: &Common,
    rare_properties: RareProperties::NONE,
};
