//! Warnings about persistent volumes (`pkg/api/persistentvolume/util.go`).

use crate::warnings::claim::old_class;
use crate::warnings::collector::Warnings;
use crate::warnings::common::annotation;
use crate::warnings::node;
use crate::warnings::old_drivers::old_drivers;
use api::tree::{child, children, text};
use apimachinery::field::Path;
use schema::object::{Object, get_object};

const OLD_MOUNT_OPTIONS: &str = "volume.beta.kubernetes.io/mount-options";

/// Removed drivers.
const OLD_DRIVERS: [(&str, &str); 6] = [
    ("cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    ("photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
    ("scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    ("storageos", "deprecated in v1.22, non-functional in v1.25+"),
    ("glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    ("rbd", "deprecated in v1.28, non-functional in v1.31+"),
];

pub(super) fn persistent_volume(volume: &Object, out: &mut Warnings) {
    old_class(volume, out);
    if annotation(volume, OLD_MOUNT_OPTIONS).is_some() {
        out.add(format_args!(
            "metadata.annotations[{OLD_MOUNT_OPTIONS}]: deprecated since v1.31; use \"mountOptions\" attribute \
             instead"
        ));
    }
    let Some(spec) = child(volume, "spec") else { return };
    if text(spec, "persistentVolumeReclaimPolicy") == "Recycle" {
        out.add(format_args!(
            "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the \
             recommended approach is to use dynamic provisioning."
        ));
    }
    let path = Path::root("spec.nodeAffinity.required.nodeSelectorTerms");
    if let Some(required) = get_object(spec, &["nodeAffinity", "required"]) {
        for (index, term) in children(required, "nodeSelectorTerms").enumerate() {
            node::selector_term(&path.index(index), term, false, out);
        }
    }
    old_drivers(&Path::root("spec"), spec, &OLD_DRIVERS, out);
}
