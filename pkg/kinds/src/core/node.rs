//! The kind `Node`.

use crate::kind::{Kind, Validation, WarningRules};
use crate::strategy::gated::places;
use crate::validation::kinds::node;
use crate::warnings;

pub(crate) static NODE: Kind = Kind {
    validation: Validation::Settings(node::RULES),
    warnings: WarningRules { create: warnings::node::node, ..WarningRules::NONE },
    gated: places::NODE,
    initial_status: true,
    ..Kind::PLAIN
};
