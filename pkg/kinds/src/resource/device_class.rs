//! The kind `DeviceClass`.

use crate::kind::{Columns, Kind, NO_DEFAULTS, RareProperties, Validation, WarningRules};
use crate::printers::column::{AGE, NAME};
use crate::resource::device;
use crate::strategy::gated::fields::{gated_by, gated_path};
use crate::strategy::hooks::Common;
use api::name_rule::NameRule;
use component_base::features::Gate;

pub(crate) static KIND: Kind = Kind {
    names: NameRule::LongName,
    qualified_finalizers: true,
    defaults: NO_DEFAULTS,
    validation: Validation::Settings(device::CLASSES),
    warnings: WarningRules::NONE,
    columns: Columns::Custom(&[NAME, AGE]),
    gated: &[gated_path(&["spec"], &[gated_by(Gate::DRAExtendedResource, &[&["extendedResourceName"]])])],
    strategy: &Common,
    rare_properties: RareProperties::NONE,
};
