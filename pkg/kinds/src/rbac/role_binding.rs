//! The kind `RoleBinding`.

use crate::kind::{Kind, Validation};
use crate::validation::kinds::rbac;
use api::name_rule::NameRule;

pub(crate) static ROLE_BINDING: Kind = Kind {
    names: NameRule::FinishedPathSegment,
    validation: Validation::Objects(rbac::ROLE_BINDINGS),
    ..Kind::PLAIN
};
