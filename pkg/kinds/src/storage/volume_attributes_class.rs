//! The kind `VolumeAttributesClass`.

use crate::kind::{Columns, Kind, NO_DEFAULTS, Validation, WarningRules, WriteRules};
use crate::printers::column::{AGE, Column, NAME};
use crate::storage;
use crate::strategy::hooks::Common;
use api::name_rule::NameRule;

pub(crate) static KIND: Kind = Kind {
    names: NameRule::DnsSubdomain,
    qualified_finalizers: true,
    defaults: NO_DEFAULTS,
    validation: Validation::Objects(storage::class::ATTRIBUTES_CLASSES),
    warnings: WarningRules::NONE,
    columns: Columns::Own(&[
        NAME,
        Column::text("DriverName", |object, _| object.get("driverName").into())
            .described_as("io.k8s.api.storage.v1.VolumeAttributesClass", "driverName"),
        AGE,
    ]),
    gated: &[],
    strategy: &Common,
    writes: WriteRules::COMMON,
};
