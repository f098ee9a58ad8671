//! The kind `StatefulSet`.

use crate::kind::{Kind, OnUpdate, Validation, WarningRules};
use crate::strategy::gated::places;
use crate::validation::kinds::stateful_set;
use crate::warnings::generation_changed;
use crate::warnings::workload;
use api::name_rule::NameRule;

pub(crate) static STATEFUL_SET: Kind = Kind {
    names: NameRule::DnsLabel,
    validation: Validation::Settings(stateful_set::RULES),
    warnings: WarningRules {
        create: workload::stateful_set,
        update: OnUpdate::Own(|new, old, out| {
            workload::stateful_set_update(new, generation_changed(new, old), out)
        }),
        ..WarningRules::NONE
    },
    gated: places::STATEFUL_SET,
    ..Kind::PLAIN
};
