//! The kind `ClusterRoleBinding`.

use crate::kind::{Kind, Validation};
use crate::validation::kinds::rbac;
use api::name_rule::NameRule;

pub(crate) static CLUSTER_ROLE_BINDING: Kind = Kind {
    names: NameRule::FinishedPathSegment,
    validation: Validation::Objects(rbac::CLUSTER_ROLE_BINDINGS),
    ..Kind::PLAIN
};
