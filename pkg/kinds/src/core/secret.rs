//! The kind `Secret`.

use crate::core::config;
use crate::kind::{Kind, Validation, WarningRules};
use crate::warnings::core;

pub(crate) static SECRET: Kind = Kind {
    validation: Validation::Objects(config::SECRETS),
    warnings: WarningRules { create: core::secret, ..WarningRules::NONE },
    ..Kind::PLAIN
};
