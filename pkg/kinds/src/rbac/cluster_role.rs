//! The kind `ClusterRole`.

use crate::kind::{Kind, Validation};
use crate::rbac::rules;
use api::name_rule::NameRule;

pub(crate) static CLUSTER_ROLE: Kind = Kind {
    names: NameRule::FinishedPathSegment,
    validation: Validation::Objects(rules::CLUSTER_ROLES),
    ..Kind::PLAIN
};
