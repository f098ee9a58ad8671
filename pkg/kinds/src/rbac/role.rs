//! The kind `Role`.

use crate::kind::{Kind, Validation};
use crate::validation::kinds::rbac;
use api::name_rule::NameRule;

pub(crate) static ROLE: Kind = Kind {
    names: NameRule::FinishedPathSegment,
    validation: Validation::Objects(rbac::ROLES),
    ..Kind::PLAIN
};
