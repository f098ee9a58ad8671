//! The kind `ResourceSlice`.

mod gated;
mod warnings;

use crate::kind::{Columns, Kind, NO_DEFAULTS, RareProperties, Validation, WarningRules};
use crate::printers::column::{AGE, Column, NAME};
use crate::resource::{defaults, device};
use crate::strategy::hooks::Common;
use api::name_rule::NameRule;

pub(crate) static KIND: Kind = Kind {
    names: NameRule::DnsSubdomain,
    qualified_finalizers: true,
    // The only default is the time of taints, see `times`.
    defaults: NO_DEFAULTS,
    validation: Validation::Settings(device::SLICES),
    warnings: WarningRules { create: warnings::driver_name, ..WarningRules::NONE },
    columns: Columns::Custom(&[
        NAME,
        Column::text("Node", |object, _| object.get_path("spec.nodeName").into())
            .with_description_of("io.k8s.api.resource.v1.ResourceSliceSpec", "nodeName"),
        Column::text("Driver", |object, _| object.get_path("spec.driver").into())
            .with_description_of("io.k8s.api.resource.v1.ResourceSliceSpec", "driver"),
        Column::text("Pool", |object, _| object.get_path("spec.pool.name").into())
            .with_description_of("io.k8s.api.resource.v1.ResourcePool", "name"),
        AGE,
    ]),
    gated: gated::GATED,
    strategy: &Common,
    rare_properties: RareProperties {
        counts_before_strategy: true,
        times: &[
            ("resource.k8s.io/v1", defaults::stamp_slice),
            ("resource.k8s.io/v1beta2", defaults::stamp_slice),
            ("resource.k8s.io/v1beta1", defaults::stamp_slice_v1beta1),
        ],
        ..RareProperties::NONE
    },
};
