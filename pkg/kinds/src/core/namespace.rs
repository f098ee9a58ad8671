//! The kind `Namespace`.

use crate::kind::{Kind, Validation};
use crate::strategy;
use crate::validation::kinds::namespace;
use api::name_rule::NameRule;

pub(crate) static NAMESPACE: Kind = Kind {
    names: NameRule::DnsLabel,
    validation: Validation::Objects(namespace::RULES),
    strategy: &strategy::namespace::Namespaces,
    early_preconditions: true,
    ..Kind::PLAIN
};
