//! The kind `ServiceAccount`.

use crate::core::config;
use crate::kind::{Kind, OnUpdate, Validation, WarningRules};
use crate::strategy::small;
use crate::warnings::core;

pub(crate) static SERVICE_ACCOUNT: Kind = Kind {
    validation: Validation::Objects(config::SERVICE_ACCOUNTS),
    warnings: WarningRules {
        create: |new, out| core::service_account(new, None, out),
        // Only if the problem is new.
        update: OnUpdate::Own(|new, old, out| core::service_account(new, Some(old), out)),
        ..WarningRules::NONE
    },
    strategy: &small::ServiceAccounts,
    ..Kind::PLAIN
};
