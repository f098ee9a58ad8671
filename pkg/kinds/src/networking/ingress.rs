//! The kind `Ingress`.

use crate::kind::{Kind, OnUpdate, Validation, WarningRules};
use crate::validation::kinds::networking;
use crate::warnings;

pub(crate) static INGRESS: Kind = Kind {
    validation: Validation::Settings(networking::ingress::RULES),
    warnings: WarningRules {
        create: warnings::networking::ingress,
        update: OnUpdate::Own(|_, _, _| {}),
        update_status: warnings::networking::load_balancer_status,
        ..WarningRules::NONE
    },
    ..Kind::PLAIN
};
