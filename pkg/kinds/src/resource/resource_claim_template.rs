//! The kind `ResourceClaimTemplate`.

use crate::kind::{Kind, Validation};
use crate::resource::device;
use crate::strategy::gated::places;

pub(crate) static RESOURCE_CLAIM_TEMPLATE: Kind = Kind {
    validation: Validation::Settings(device::TEMPLATES),
    gated: places::RESOURCE_CLAIM_TEMPLATE,
    ..Kind::PLAIN
};
