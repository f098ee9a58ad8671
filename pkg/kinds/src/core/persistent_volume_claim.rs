//! The kind `PersistentVolumeClaim`.

use crate::kind::{Kind, Validation, WarningRules};
use crate::strategy;
use crate::strategy::gated::places::CLAIM_OF_VOLUME;
use crate::validation::kinds::persistent_volume_claim;
use crate::warnings::storage;

pub(crate) static PERSISTENT_VOLUME_CLAIM: Kind = Kind {
    validation: Validation::Objects(persistent_volume_claim::RULES),
    warnings: WarningRules { create: storage::claim, ..WarningRules::NONE },
    strategy: &strategy::persistent_volume_claim::PersistentVolumeClaims,
    gated: CLAIM_OF_VOLUME,
    ..Kind::PLAIN
};
