//! The kind `ResourceQuota`.

use crate::kind::{Kind, OnUpdate, Validation, WarningRules};
use crate::validation::kinds::quota;
use crate::warnings::core;

pub(crate) static RESOURCE_QUOTA: Kind = Kind {
    validation: Validation::Objects(quota::RULES),
    warnings: WarningRules {
        create: core::resource_quota,
        update: OnUpdate::Own(|_, _, _| {}),
        ..WarningRules::NONE
    },
    ..Kind::PLAIN
};
