//! The kind `CompositePodGroup`.

use crate::kind::{Columns, Kind, RareProperties, Validation, Version, WarningRules};
use crate::printers::column::{AGE, Column, NAME};
use crate::scheduling::{gated, groups, pod_group};
use crate::strategy::hooks::Common;
use api::name_rule::NameRule;

pub(crate) static KIND: Kind = Kind {
    names: NameRule::DnsSubdomain,
    qualified_finalizers: true,
    defaults: &[Version::with_defaults("scheduling.k8s.io/v1alpha3", pod_group::defaults)],
    validation: Validation::Objects(groups::COMPOSITE_GROUPS),
    warnings: WarningRules::NONE,
    columns: Columns::Custom(COLUMNS),
    gated: gated::COMPOSITE_POD_GROUP,
    strategy: &Common,
    rare_properties: RareProperties::NONE,
};

static COLUMNS: &[Column] = &[
    NAME,
    Column::text("Policy", |object, _| pod_group::policy(object).into())
        .with_description_of("io.k8s.api.scheduling.v1alpha3.CompositePodGroupSpec", "schedulingPolicy"),
    Column::text("Workload", |object, _| pod_group::workload(object).into())
        .with_description("Name of the referenced Workload object"),
    AGE,
];
