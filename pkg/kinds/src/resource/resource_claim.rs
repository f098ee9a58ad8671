//! The kind `ResourceClaim`.

use crate::kind::{Kind, Validation};
use crate::resource::device;
use crate::strategy::gated::places;
use crate::strategy::resource_claim;

pub(crate) static RESOURCE_CLAIM: Kind = Kind {
    validation: Validation::Settings(device::CLAIMS),
    strategy: &resource_claim::ResourceClaims,
    gated: places::RESOURCE_CLAIM,
    ..Kind::PLAIN
};
