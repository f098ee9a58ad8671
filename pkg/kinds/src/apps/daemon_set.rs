//! The kind `DaemonSet`.

use crate::kind::{Kind, OnUpdate, Validation, WarningRules};
use crate::strategy;
use crate::strategy::gated::places::TEMPLATE;
use crate::validation::kinds::daemon_set;
use crate::warnings::workload;

pub(crate) static DAEMON_SET: Kind = Kind {
    validation: Validation::Settings(daemon_set::RULES),
    warnings: WarningRules {
        create: workload::template,
        update: OnUpdate::Own(workload::daemon_set_update),
        ..WarningRules::NONE
    },
    strategy: &strategy::daemon_set::DaemonSets,
    gated: &[TEMPLATE],
    ..Kind::PLAIN
};
