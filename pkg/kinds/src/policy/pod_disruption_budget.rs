//! The kind `PodDisruptionBudget`.

use crate::kind::{Kind, Validation};
use crate::validation::kinds::disruption_budget;
use api::name_rule::NameRule;

pub(crate) static POD_DISRUPTION_BUDGET: Kind = Kind {
    names: NameRule::PathSegment,
    qualified_finalizers: false,
    validation: Validation::Objects(disruption_budget::RULES),
    ..Kind::PLAIN
};
