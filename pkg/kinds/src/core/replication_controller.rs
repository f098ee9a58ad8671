//! The kind `ReplicationController`.

use crate::apps::replica_set;
use crate::kind::{Kind, OnUpdate, Validation, WarningRules};
use crate::strategy::gated::places::TEMPLATE;
use crate::warnings::workload;
use api::name_rule::NameRule;

pub(crate) static REPLICATION_CONTROLLER: Kind = Kind {
    names: NameRule::LongName,
    validation: Validation::Settings(replica_set::CONTROLLERS),
    warnings: WarningRules {
        create: workload::named_template,
        update: OnUpdate::Own(workload::replication_controller_update),
        ..WarningRules::NONE
    },
    gated: &[TEMPLATE],
    ..Kind::PLAIN
};
