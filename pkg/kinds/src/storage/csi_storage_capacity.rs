//! The kind `CSIStorageCapacity`.

use crate::kind::{Kind, Validation, WarningRules};
use crate::validation::kinds::storage;
use crate::warnings;

pub(crate) static CSI_STORAGE_CAPACITY: Kind = Kind {
    validation: Validation::Objects(storage::capacity::RULES),
    warnings: WarningRules { create: warnings::storage::capacity, ..WarningRules::NONE },
    ..Kind::PLAIN
};
