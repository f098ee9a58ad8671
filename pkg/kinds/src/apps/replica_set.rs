//! The kind `ReplicaSet`.

use crate::kind::{Kind, OnUpdate, Validation, WarningRules};
use crate::strategy::gated::places::{TEMPLATE, TERMINATING};
use crate::validation::kinds::replica_set;
use crate::warnings::workload;

pub(crate) static REPLICA_SET: Kind = Kind {
    validation: Validation::Settings(replica_set::REPLICA_SETS),
    warnings: WarningRules {
        create: workload::named_template,
        update: OnUpdate::Own(workload::template_update),
        ..WarningRules::NONE
    },
    gated: &[TEMPLATE, TERMINATING],
    ..Kind::PLAIN
};
