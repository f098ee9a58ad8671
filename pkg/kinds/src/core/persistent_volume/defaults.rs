//! Defaults of persistent volumes.

use crate::defaults::fill::{default_struct, if_nil, if_zero};
use crate::defaults::object::Object;
use crate::defaults::volumes;

pub(super) fn persistent_volume(volume: &mut Object) {
    default_struct(volume, "spec", |spec| {
        if_zero(spec, "persistentVolumeReclaimPolicy", "Retain");
        if_nil(spec, "volumeMode", "Filesystem");
        volumes::persistent_source(spec);
    });
    default_struct(volume, "status", |status| if_zero(status, "phase", "Pending"));
}
