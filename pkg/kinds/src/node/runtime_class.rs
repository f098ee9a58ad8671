//! The kind `RuntimeClass`.

use crate::kind::{Kind, Validation, WarningRules};
use crate::validation::kinds::runtime_class;
use crate::warnings::node;

pub(crate) static RUNTIME_CLASS: Kind = Kind {
    qualified_finalizers: false,
    validation: Validation::Objects(runtime_class::RULES),
    warnings: WarningRules { create: node::runtime_class, ..WarningRules::NONE },
    ..Kind::PLAIN
};
