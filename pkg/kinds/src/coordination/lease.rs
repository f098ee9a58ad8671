//! The kind `Lease`.

use crate::kind::{Kind, Validation};
use crate::strategy::gated::places;
use crate::validation::kinds::coordination;

pub(crate) static LEASE: Kind = Kind {
    qualified_finalizers: false,
    validation: Validation::Objects(coordination::LEASES),
    gated: places::LEASE,
    ..Kind::PLAIN
};
