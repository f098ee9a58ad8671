//! The kind `DeviceClass`.

use crate::kind::{Kind, Validation};
use crate::resource::device;
use crate::strategy::gated::places;
use api::name_rule::NameRule;

pub(crate) static DEVICE_CLASS: Kind = Kind {
    names: NameRule::LongName,
    validation: Validation::Settings(device::CLASSES),
    gated: places::DEVICE_CLASS,
    ..Kind::PLAIN
};
