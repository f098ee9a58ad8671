//! The kind `PodTemplate`.

use crate::kind::{Kind, OnUpdate, Validation, WarningRules};
use crate::strategy::gated::places;
use crate::validation::kinds::pod_template;
use crate::warnings::workload;

pub(crate) static POD_TEMPLATE: Kind = Kind {
    validation: Validation::Settings(pod_template::RULES),
    warnings: WarningRules {
        create: workload::pod_template,
        update: OnUpdate::Own(workload::pod_template_update),
        ..WarningRules::NONE
    },
    gated: places::POD_TEMPLATE,
    ..Kind::PLAIN
};
