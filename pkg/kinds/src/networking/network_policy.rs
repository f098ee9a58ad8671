//! The kind `NetworkPolicy`.

use crate::kind::{Kind, Validation, WarningRules};
use crate::validation::kinds::networking;
use crate::warnings;

pub(crate) static NETWORK_POLICY: Kind = Kind {
    validation: Validation::Settings(networking::network_policy::RULES),
    warnings: WarningRules { create: warnings::networking::network_policy, ..WarningRules::NONE },
    ..Kind::PLAIN
};
