//! The kind `Role`.

use crate::kind::{Kind, Validation};
use crate::rbac::rules;
use api::name_rule::NameRule;

pub(crate) static ROLE: Kind = Kind {
    names: NameRule::FinishedPathSegment,
    validation: Validation::Objects(rules::ROLES),
    ..Kind::PLAIN
};
