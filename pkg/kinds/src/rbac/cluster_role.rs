//! The kind `ClusterRole`.

use crate::kind::{Kind, Validation};
use crate::validation::kinds::rbac;
use api::name_rule::NameRule;

pub(crate) static CLUSTER_ROLE: Kind = Kind {
    names: NameRule::FinishedPathSegment,
    validation: Validation::Objects(rbac::CLUSTER_ROLES),
    ..Kind::PLAIN
};
