//! Defaults of CSI drivers.

use crate::defaults::fill::{default_struct, if_nil, is_zero};
use crate::defaults::object::Object;
use component_base::features::Gate;
use jsontree::json;

pub(super) fn csi_driver(driver: &mut Object) {
    default_struct(driver, "spec", |spec| {
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
