//! The kind `DeviceTaintRule`.

use crate::kind::{Kind, Validation};
use crate::resource::device;
use crate::strategy::small;

pub(crate) static DEVICE_TAINT_RULE: Kind = Kind {
    validation: Validation::Objects(device::TAINT_RULES),
    strategy: &small::DeviceTaintRules,
    ..Kind::PLAIN
};
