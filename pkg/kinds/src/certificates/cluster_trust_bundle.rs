//! The kind `ClusterTrustBundle`.

use crate::kind::{Kind, Validation};
use crate::validation::kinds::trust_bundle;
use api::name_rule::NameRule;

pub(crate) static CLUSTER_TRUST_BUNDLE: Kind = Kind {
    names: NameRule::ClusterTrustBundle,
    validation: Validation::Objects(trust_bundle::RULES),
    ..Kind::PLAIN
};
