//! The kind `DeviceClass`.

use crate::kind::{Columns, Exceptions, Kind, NO_DEFAULTS, Validation, WarningRules};
use crate::printers::column::{AGE, NAME};
use crate::resource::device;
use crate::strategy::gated::fields::{behind, place};
use crate::strategy::hooks::Common;
use api::name_rule::NameRule;
use component_base::features::Gate;

pub(crate) static KIND: Kind = Kind {
    names: NameRule::LongName,
    qualified_finalizers: true,
    defaults: NO_DEFAULTS,
    validation: Validation::Settings(device::CLASSES),
    warnings: WarningRules::NONE,
    columns: Columns::Own(&[NAME, AGE]),
    gated: &[place(&["spec"], &[behind(Gate::DRAExtendedResource, &[&["extendedResourceName"]])])],
    strategy: &Common,
    exceptions: Exceptions::NONE,
};
