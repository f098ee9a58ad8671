//! Defaults of persistent volumes.

use crate::defaults::fill::{if_nil, if_zero, within};
use crate::defaults::object::Object;
use crate::defaults::volumes;

pub(super) fn persistent_volume(volume: &mut Object) {
    within(volume, "spec", |spec| {
        if_zero(spec, "persistentVolumeReclaimPolicy", "Retain");
        if_nil(spec, "volumeMode", "Filesystem");
        volumes::persistent_source(spec);
    });
    within(volume, "status", |status| if_zero(status, "phase", "Pending"));
}
