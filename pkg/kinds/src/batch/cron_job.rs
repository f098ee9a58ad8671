//! The kind `CronJob`.

use crate::kind::{Kind, OnUpdate, Validation, WarningRules};
use crate::strategy::gated::places;
use crate::validation::kinds::cron_job;
use crate::warnings::generation_changed;
use crate::warnings::workload;

pub(crate) static CRON_JOB: Kind = Kind {
    validation: Validation::Settings(cron_job::RULES),
    warnings: WarningRules {
        create: workload::cron_job,
        update: OnUpdate::Own(|new, old, out| {
            workload::cron_job_update(new, generation_changed(new, old), out)
        }),
        ..WarningRules::NONE
    },
    gated: places::CRON_JOB,
    ..Kind::PLAIN
};
