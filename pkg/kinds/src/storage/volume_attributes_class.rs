//! The kind `VolumeAttributesClass`.

mod rules;

use crate::kind::{Columns, Kind, NO_DEFAULTS, RareProperties, Validation, WarningRules};
use crate::printers::column::{AGE, Column, NAME};
use crate::strategy::hooks::Common;
use api::name_rule::NameRule;

pub(crate) static KIND: Kind = Kind {
    names: NameRule::DnsSubdomain,
    qualified_finalizers: true,
    defaults: NO_DEFAULTS,
    validation: Validation::Objects(rules::RULES),
    warnings: WarningRules::NONE,
    columns: Columns::Custom(&[
        NAME,
        Column::text("DriverName", |object, _| object.get("driverName").into())
            .with_description_of("io.k8s.api.storage.v1.VolumeAttributesClass", "driverName"),
        AGE,
    ]),
    gated: &[],
    strategy: &Common,
    rare_properties: RareProperties::NONE,
};
