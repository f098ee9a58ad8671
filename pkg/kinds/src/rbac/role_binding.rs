//! The kind `RoleBinding`.

use crate::kind::{Kind, Validation};
use crate::rbac::rules;
use api::name_rule::NameRule;

pub(crate) static ROLE_BINDING: Kind = Kind {
    names: NameRule::FinishedPathSegment,
    validation: Validation::Objects(rules::ROLE_BINDINGS),
    ..Kind::PLAIN
};
