//! storage.k8s.io: classes, drivers, attachments.

use super::fill::{if_nil, if_present, is_zero, within};
use super::object::Object;
use super::{Rule, volumes};
use component_base::features::Gate;
use jsontree::json;

pub(super) fn rule(version: &str, kind: &str) -> Option<Rule> {
    Some(match (version, kind) {
        ("v1" | "v1beta1", "StorageClass") => storage_class,
        ("v1" | "v1beta1", "CSIDriver") => csi_driver,
        // Upstream also has a rule for v1alpha1 but never registers it.
        ("v1" | "v1beta1", "VolumeAttachment") => volume_attachment,
        _ => return None,
    })
}

fn storage_class(class: &mut Object) {
    if_nil(class, "reclaimPolicy", "Delete");
    if_nil(class, "volumeBindingMode", "Immediate");
}

fn csi_driver(driver: &mut Object) {
    within(driver, "spec", |spec| {
        if_nil(spec, "attachRequired", true);
        if_nil(spec, "fsGroupPolicy", "ReadWriteOnceWithFSType");
        for name in ["podInfoOnMount", "storageCapacity", "requiresRepublish"] {
            if_nil(spec, name, false);
        }
        for (name, gate) in [
            ("seLinuxMount", Gate::SELinuxMountReadWriteOncePod),
            ("preventPodSchedulingIfMissing", Gate::VolumeLimitScaling),
        ] {
            if spec.enabled(gate) {
                if_nil(spec, name, false);
            }
        }
        if is_zero(spec, "volumeLifecycleModes") {
            spec.set("volumeLifecycleModes", json!(["Persistent"]));
        }
    });
}

fn volume_attachment(attachment: &mut Object) {
    if_present(attachment, "spec", |spec| {
        if_present(spec, "source", |source| {
            if_present(source, "inlineVolumeSpec", volumes::persistent_source)
        });
    });
}
