//! The kind `Event`.

use crate::events::rules;
use crate::kind::{Kind, Validation};
use api::name_rule::NameRule;

pub(crate) static EVENT: Kind = Kind {
    names: NameRule::PathSegment,
    qualified_finalizers: false,
    validation: Validation::Objects(rules::CORE),
    ..Kind::PLAIN
};
