//! The kind `VolumeAttachment`.

use crate::kind::{Kind, Validation};
use crate::strategy::gated::places;
use crate::validation::kinds::storage;

pub(crate) static VOLUME_ATTACHMENT: Kind = Kind {
    validation: Validation::Objects(storage::attachment::RULES),
    gated: places::VOLUME_ATTACHMENT,
    ..Kind::PLAIN
};
