//! The kind `LeaseCandidate`.

use crate::coordination::rules;
use crate::kind::{Kind, Validation};
use api::name_rule::NameRule;

pub(crate) static LEASE_CANDIDATE: Kind = Kind {
    names: NameRule::ConfigMapKey,
    qualified_finalizers: false,
    validation: Validation::Objects(rules::LEASE_CANDIDATES),
    ..Kind::PLAIN
};
