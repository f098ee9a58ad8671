//! The kind `Job`.

use crate::kind::{Kind, OnUpdate, Validation, WarningRules};
use crate::strategy;
use crate::strategy::gated::places::TEMPLATE;
use crate::validation::kinds::job;
use crate::warnings;
use crate::warnings::workload;

pub(crate) static JOB: Kind = Kind {
    validation: Validation::Settings(job::RULES),
    warnings: WarningRules {
        create: workload::job,
        update: OnUpdate::Own(workload::job_update),
        delete: warnings::orphaned_pods,
        ..WarningRules::NONE
    },
    strategy: &strategy::job::Jobs,
    gated: &[TEMPLATE],
    ..Kind::PLAIN
};
