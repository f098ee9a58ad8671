//! The kind `StorageClass`.

use crate::kind::{Kind, Validation, WarningRules};
use crate::{storage, warnings};

pub(crate) static STORAGE_CLASS: Kind = Kind {
    validation: Validation::Objects(storage::class::STORAGE_CLASSES),
    warnings: WarningRules { create: warnings::storage::class, ..WarningRules::NONE },
    ..Kind::PLAIN
};
