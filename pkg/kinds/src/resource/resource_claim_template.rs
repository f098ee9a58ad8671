//! The kind `ResourceClaimTemplate`.

use crate::kind::{Kind, Validation};
use crate::strategy::gated::places;
use crate::validation::kinds::device;

pub(crate) static RESOURCE_CLAIM_TEMPLATE: Kind = Kind {
    validation: Validation::Settings(device::TEMPLATES),
    gated: places::RESOURCE_CLAIM_TEMPLATE,
    ..Kind::PLAIN
};
