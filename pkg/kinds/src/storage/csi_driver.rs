//! The kind `CSIDriver`.

use crate::kind::{Generation, Kind, OnUpdate, Validation, WarningRules};
use crate::strategy::gated::places;
use crate::validation::kinds::storage;
use crate::warnings;

pub(crate) static CSI_DRIVER: Kind = Kind {
    validation: Validation::Objects(storage::csi_driver::RULES),
    warnings: WarningRules {
        create: |new, out| warnings::storage::csi_driver(new, None, out),
        update: OnUpdate::Own(|new, old, out| warnings::storage::csi_driver(new, Some(old), out)),
        ..WarningRules::NONE
    },
    gated: places::CSI_DRIVER,
    generation: Generation::Counted,
    ..Kind::PLAIN
};
