//! The kind `Deployment`.

use crate::kind::{Kind, OnUpdate, Validation, WarningRules};
use crate::strategy::gated::places::{TEMPLATE, TERMINATING};
use crate::validation::kinds::deployment;
use crate::warnings::workload;

pub(crate) static DEPLOYMENT: Kind = Kind {
    validation: Validation::Settings(deployment::RULES),
    warnings: WarningRules {
        create: workload::named_template,
        update: OnUpdate::Own(workload::template_update),
        ..WarningRules::NONE
    },
    gated: &[TEMPLATE, TERMINATING],
    counted_metadata: Some("annotations"),
    ..Kind::PLAIN
};
