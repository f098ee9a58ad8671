//! The kind `LeaseCandidate`.

use crate::kind::{Kind, Validation};
use crate::validation::kinds::coordination;
use api::name_rule::NameRule;

pub(crate) static LEASE_CANDIDATE: Kind = Kind {
    names: NameRule::ConfigMapKey,
    qualified_finalizers: false,
    validation: Validation::Objects(coordination::LEASE_CANDIDATES),
    ..Kind::PLAIN
};
