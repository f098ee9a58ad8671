//! The kind `Event`.

use crate::kind::{Kind, Validation};
use crate::validation::kinds::event;
use api::name_rule::NameRule;

pub(crate) static EVENT: Kind = Kind {
    names: NameRule::PathSegment,
    qualified_finalizers: false,
    validation: Validation::Objects(event::CORE),
    ..Kind::PLAIN
};
