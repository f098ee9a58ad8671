//! The kind `Pod`.

use crate::kind::{Kind, OnUpdate, Validation, WarningRules};
use crate::strategy;
use crate::strategy::gated::places;
use crate::validation::kinds::pod;
use crate::warnings::app_armor;
use crate::warnings::networking;
use crate::warnings::workload;

pub(crate) static POD: Kind = Kind {
    validation: Validation::Settings(pod::RULES),
    warnings: WarningRules {
        create: workload::pod,
        // Hardly a person ever updates a pod or sees the warning.
        update: OnUpdate::Own(|_, _, _| {}),
        before_create: app_armor::pod,
        update_status: networking::pod_status,
        ..WarningRules::NONE
    },
    strategy: &strategy::pod::Pods,
    gated: places::POD,
    initial_status: true,
    ..Kind::PLAIN
};
