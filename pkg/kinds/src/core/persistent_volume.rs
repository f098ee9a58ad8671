//! The kind `PersistentVolume`.

use crate::kind::{Kind, Validation, WarningRules};
use crate::strategy;
use crate::strategy::gated::places::VOLUME;
use crate::validation::kinds::persistent_volume;
use crate::warnings::storage;

pub(crate) static PERSISTENT_VOLUME: Kind = Kind {
    validation: Validation::Objects(persistent_volume::RULES),
    warnings: WarningRules { create: storage::persistent_volume, ..WarningRules::NONE },
    strategy: &strategy::persistent_volume::PersistentVolumes,
    gated: VOLUME,
    ..Kind::PLAIN
};
