//! Warnings about pod volumes with removed drivers, and about claim templates in volumes.

use super::claim::claim_spec;
use super::collector::Warnings;
use super::old_drivers::{GIT_REPO, old_drivers};
use api::tree::children;
use apimachinery::field::Path;
use schema::object::{Object, get_object};

/// Drivers before the claim template in upstream's order, with their warnings.
const OLD_DRIVERS: [(&str, &str); 7] = [
    ("photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
    (GIT_REPO, "deprecated in v1.11, and disabled by default in v1.33+"),
    ("scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    ("flocker", "deprecated in v1.22, non-functional in v1.25+"),
    ("storageos", "deprecated in v1.22, non-functional in v1.25+"),
    ("quobyte", "deprecated in v1.22, non-functional in v1.25+"),
    ("glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
];

/// Drivers after the claim template.
const NEWER_DRIVERS: [(&str, &str); 2] = [
    ("cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    ("rbd", "deprecated in v1.28, non-functional in v1.31+"),
];

pub(super) fn volumes(path: &Path<'_>, spec: &Object, out: &mut Warnings) {
    for (index, volume) in children(spec, "volumes").enumerate() {
        let path = path.index(index);
        old_drivers(&path, volume, &OLD_DRIVERS, out);
        if let Some(claim) = get_object(volume, &["ephemeral", "volumeClaimTemplate", "spec"]) {
            claim_spec(&path.child("ephemeral.volumeClaimTemplate.spec"), claim, out);
        }
        old_drivers(&path, volume, &NEWER_DRIVERS, out);
    }
}

#[cfg(test)]
mod tests {
    use crate::warnings::testing::{created, created_with};
    use component_base::features::{Gate, Gates};
    use jsontree::json;

    #[test]
    fn removed_volume_drivers_warn() {
        for (driver, expected) in [
            ("photonPersistentDisk", "photonPersistentDisk: deprecated in v1.11, non-functional in v1.16+"),
            ("gitRepo", "gitRepo: deprecated in v1.11, and disabled by default in v1.33+"),
            ("scaleIO", "scaleIO: deprecated in v1.16, non-functional in v1.22+"),
            ("flocker", "flocker: deprecated in v1.22, non-functional in v1.25+"),
            ("storageos", "storageOS: deprecated in v1.22, non-functional in v1.25+"),
            ("quobyte", "quobyte: deprecated in v1.22, non-functional in v1.25+"),
            ("glusterfs", "glusterfs: deprecated in v1.25, non-functional in v1.26+"),
            ("cephfs", "cephfs: deprecated in v1.28, non-functional in v1.31+"),
            ("rbd", "rbd: deprecated in v1.28, non-functional in v1.31+"),
        ] {
            let volumes = json!([{"name": "a", "emptyDir": {}}, {"name": "v", driver: {}}]);
            let pod = json!({"metadata": {"name": "a"}, "spec": {"volumes": volumes}});
            created("", "pods", pod, &[&format!("spec.volumes[1].{expected}")]);
        }
    }

    #[test]
    fn restored_driver_is_only_deprecated() {
        let pod = json!({"metadata": {"name": "a"}, "spec": {"volumes": [{"name": "v", "gitRepo": {}}]}});
        let gates = Gates::default().with(Gate::GitRepoVolumeDriver, true);
        created_with(gates, "", "pods", pod, &["spec.volumes[0].gitRepo: deprecated in v1.11"]);
    }

    #[test]
    fn a_volume_may_be_made_from_a_claim() {
        let claim = json!({"spec": {"resources": {"requests": {"storage": "1500m"}}}});
        let volumes = json!([{"name": "v", "ephemeral": {"volumeClaimTemplate": claim}}]);
        created(
            "",
            "pods",
            json!({"metadata": {"name": "a"}, "spec": {"volumes": volumes}}),
            &["spec.volumes[0].ephemeral.volumeClaimTemplate.spec.resources.requests[storage]: fractional \
               byte value \"1500m\" is invalid, must be an integer"],
        );
    }
}
