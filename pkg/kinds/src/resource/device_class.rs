//! The kind `DeviceClass`.

use crate::kind::{Kind, Validation};
use crate::strategy::gated::places;
use crate::validation::kinds::device;
use api::name_rule::NameRule;

pub(crate) static DEVICE_CLASS: Kind = Kind {
    names: NameRule::LongName,
    validation: Validation::Settings(device::CLASSES),
    gated: places::DEVICE_CLASS,
    ..Kind::PLAIN
};
