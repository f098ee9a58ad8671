//! The kind `ClusterRoleBinding`.

use crate::kind::{Kind, Validation};
use crate::rbac::rules;
use api::name_rule::NameRule;

pub(crate) static CLUSTER_ROLE_BINDING: Kind = Kind {
    names: NameRule::FinishedPathSegment,
    validation: Validation::Objects(rules::CLUSTER_ROLE_BINDINGS),
    ..Kind::PLAIN
};
