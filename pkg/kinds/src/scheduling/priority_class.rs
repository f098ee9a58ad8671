//! The kind `PriorityClass`.

use crate::kind::{Generation, Kind, Validation};
use crate::validation::kinds::priority_class;

pub(crate) static PRIORITY_CLASS: Kind = Kind {
    validation: Validation::Objects(priority_class::RULES),
    generation: Generation::Constant,
    undeletable: priority_class::undeletable,
    ..Kind::PLAIN
};
