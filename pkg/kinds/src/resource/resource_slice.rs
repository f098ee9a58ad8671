//! The kind `ResourceSlice`.

use crate::kind::{Kind, Validation, WarningRules};
use crate::resource::device;
use crate::strategy::gated::places;
use crate::warnings;

pub(crate) static RESOURCE_SLICE: Kind = Kind {
    validation: Validation::Objects(device::SLICES),
    warnings: WarningRules { create: warnings::driver_name, ..WarningRules::NONE },
    gated: places::RESOURCE_SLICE,
    counts_first: true,
    ..Kind::PLAIN
};
