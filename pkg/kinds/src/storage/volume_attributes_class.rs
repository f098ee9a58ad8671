//! The kind `VolumeAttributesClass`.

use crate::kind::{Kind, Validation};
use crate::storage;

pub(crate) static VOLUME_ATTRIBUTES_CLASS: Kind =
    Kind { validation: Validation::Objects(storage::class::ATTRIBUTES_CLASSES), ..Kind::PLAIN };
