//! The kind `ResourceClaim`.

use crate::kind::{Kind, Validation};
use crate::strategy::gated::places;
use crate::strategy::resource_claim;
use crate::validation::kinds::device;

pub(crate) static RESOURCE_CLAIM: Kind = Kind {
    validation: Validation::Settings(device::CLAIMS),
    strategy: &resource_claim::ResourceClaims,
    gated: places::RESOURCE_CLAIM,
    ..Kind::PLAIN
};
