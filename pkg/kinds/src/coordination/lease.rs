//! The kind `Lease`.

use crate::coordination::rules;
use crate::kind::{Kind, Validation};
use crate::strategy::gated::places;

pub(crate) static LEASE: Kind = Kind {
    qualified_finalizers: false,
    validation: Validation::Objects(rules::LEASES),
    gated: places::LEASE,
    ..Kind::PLAIN
};
