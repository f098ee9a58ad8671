//! Warnings about volumes, claims, storage classes and drivers
//! (`pkg/api/{persistentvolume,persistentvolumeclaim,storage}/util.go`, `pkg/registry/storage/csidriver`).

use super::collector::Warnings;
use super::containers::fractions;
use super::node;
use super::old_drivers::old_drivers;
use crate::warnings::common::annotation;
use api::tree::{child, children, list, text};
use apimachinery::field::Path;
use component_base::features::Gate;
use schema::object::{Object, get_list, get_object};

const OLD_CLASS: &str = "volume.beta.kubernetes.io/storage-class";
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

pub(crate) fn persistent_volume(volume: &Object, out: &mut Warnings) {
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

pub(crate) fn claim(claim: &Object, out: &mut Warnings) {
    old_class(claim, out);
    if let Some(spec) = child(claim, "spec") {
        claim_spec(&Path::root("spec"), spec, out);
    }
}

fn old_class(object: &Object, out: &mut Warnings) {
    if annotation(object, OLD_CLASS).is_some() {
        out.add(format_args!(
            "metadata.annotations[{OLD_CLASS}]: deprecated since v1.8; use \"storageClassName\" attribute instead"
        ));
    }
}

/// Warns about fractional byte quantities in the spec of a claim.
pub(crate) fn claim_spec(path: &Path<'_>, spec: &Object, out: &mut Warnings) {
    let Some(resources) = child(spec, "resources") else { return };
    let path = path.child("resources");
    for list in ["requests", "limits"] {
        fractions(&path.child(list), child(resources, list), &["storage"], out);
    }
}

pub(crate) fn class(class: &Object, out: &mut Warnings) {
    let path = Path::root("allowedTopologies");
    for (index, term) in children(class, "allowedTopologies").enumerate() {
        let path = path.index(index);
        let path = path.child("matchLabelExpressions");
        for (index, expression) in children(term, "matchLabelExpressions").enumerate() {
            if let Some(message) = node::old_label(text(expression, "key")) {
                out.add(format_args!("{}: {message}", path.index(index).child("key")));
            }
        }
    }
}

pub(crate) fn capacity(capacity: &Object, out: &mut Warnings) {
    if let Some(topology) = child(capacity, "nodeTopology") {
        node::label_selector(&Path::root("nodeTopology"), topology, out);
    }
}

/// Warns about a `CSIDriver` that requests tokens without setting `serviceAccountTokenInSecrets`. On a
/// replacement, it only warns if the token requests have changed.
pub(crate) fn csi_driver(driver: &Object, old: Option<&Object>, out: &mut Warnings) {
    let Some(spec) = child(driver, "spec") else { return };
    if !out.enabled(Gate::CSIServiceAccountTokenSecrets)
        || list(spec, "tokenRequests").is_empty()
        || spec.get("serviceAccountTokenInSecrets").is_some_and(jsontree::Value::is_boolean)
        || old.is_some_and(|old| tokens(old).eq(tokens(driver)))
    {
        return;
    }
    out.add(format_args!(
        "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent \
         possible logging of tokens in volume attributes"
    ));
}

/// Iterates over a driver's token requests: audience and seconds.
fn tokens(driver: &Object) -> impl Iterator<Item = Option<(&str, Option<i64>)>> {
    get_list(driver, &["spec", "tokenRequests"]).iter().map(|request| {
        let request = request.as_object()?;
        Some((text(request, "audience"), request.get("expirationSeconds").and_then(jsontree::Value::as_i64)))
    })
}

#[cfg(test)]
mod tests {
    use crate::warnings::testing::{created, updated};
    use jsontree::{Value, json};

    #[test]
    fn volume_annotations_with_fields_warn() {
        let annotations = json!({
            "volume.beta.kubernetes.io/mount-options": "ro", "volume.beta.kubernetes.io/storage-class": "a",
        });
        let object = json!({"metadata": {"annotations": annotations}});
        let class = "metadata.annotations[volume.beta.kubernetes.io/storage-class]: deprecated since v1.8; use \
            \"storageClassName\" attribute instead";
        let options = "metadata.annotations[volume.beta.kubernetes.io/mount-options]: deprecated since v1.31; \
            use \"mountOptions\" attribute instead";
        created("", "persistentvolumes", object.clone(), &[class, options]);
        updated("", "persistentvolumes", object.clone(), object.clone(), &[class, options]);
        created("", "persistentvolumeclaims", object.clone(), &[class]);
        updated("", "persistentvolumeclaims", object.clone(), object, &[class]);
    }

    #[test]
    fn recycling_and_old_drivers_warn() {
        let term = json!({"matchExpressions": [{"key": "beta.kubernetes.io/arch", "operator": "Exists"}]});
        let spec = json!({
            "persistentVolumeReclaimPolicy": "Recycle",
            "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}},
            "cephfs": {}, "photonPersistentDisk": {}, "scaleIO": {}, "storageos": {}, "glusterfs": {}, "rbd": {},
            "flocker": {}, "quobyte": {},
        });
        created(
            "",
            "persistentvolumes",
            json!({"spec": spec}),
            &[
                "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the \
                 recommended approach is to use dynamic provisioning.",
                "spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].key: \
                 beta.kubernetes.io/arch is deprecated since v1.14; use \"kubernetes.io/arch\" instead",
                "spec.cephfs: deprecated in v1.28, non-functional in v1.31+",
                "spec.photonPersistentDisk: deprecated in v1.11, non-functional in v1.16+",
                "spec.scaleIO: deprecated in v1.16, non-functional in v1.22+",
                "spec.storageOS: deprecated in v1.22, non-functional in v1.25+",
                "spec.glusterfs: deprecated in v1.25, non-functional in v1.26+",
                "spec.rbd: deprecated in v1.28, non-functional in v1.31+",
            ],
        );
    }

    #[test]
    fn fractional_claim_bytes_warn() {
        let resources = json!({"requests": {"storage": "500m"}, "limits": {"storage": "1001m"}});
        created(
            "",
            "persistentvolumeclaims",
            json!({"spec": {"resources": resources}}),
            &[
                "spec.resources.requests[storage]: fractional byte value \"500m\" is invalid, must be an integer",
                "spec.resources.limits[storage]: fractional byte value \"1001m\" is invalid, must be an integer",
            ],
        );
        created(
            "",
            "persistentvolumeclaims",
            json!({"spec": {"resources": {"requests": {"storage": "1Gi"}}}}),
            &[],
        );
    }

    #[test]
    fn classes_and_capacities_may_select_old_labels() {
        let os = json!({"key": "beta.kubernetes.io/os", "values": ["linux"]});
        let message = "deprecated since v1.14; use \"kubernetes.io/os\" instead";
        created(
            "storage.k8s.io",
            "storageclasses",
            json!({"allowedTopologies": [{"matchLabelExpressions": [{"key": "a"}, os]}]}),
            &[&format!("allowedTopologies[0].matchLabelExpressions[1].key: {message}")],
        );
        let topology = json!({"matchLabels": {"beta.kubernetes.io/os": "linux"}, "matchExpressions": [os]});
        created(
            "storage.k8s.io",
            "csistoragecapacities",
            json!({"nodeTopology": topology}),
            &[
                &format!("nodeTopology.matchExpressions[0].key: beta.kubernetes.io/os is {message}"),
                &format!("nodeTopology.matchLabels.beta.kubernetes.io/os: {message}"),
            ],
        );
    }

    #[test]
    fn token_requests_without_secrets_setting_warn() {
        let driver = |tokens: Value, secrets: Value| json!({"spec": {"tokenRequests": tokens, "serviceAccountTokenInSecrets": secrets}});
        let some = json!([{"audience": "a"}]);
        let other = json!([{"audience": "b"}]);
        let expected =
            ["spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to \
                         true to prevent possible logging of tokens in volume attributes"];
        let group = "storage.k8s.io";
        let plural = "csidrivers";
        created(group, plural, driver(some.clone(), Value::Null), &expected);
        created(group, plural, driver(some.clone(), json!(false)), &[]);
        created(group, plural, driver(json!([]), Value::Null), &[]);
        updated(group, plural, driver(other, Value::Null), driver(some.clone(), Value::Null), &expected);
        updated(group, plural, driver(some.clone(), Value::Null), driver(some, Value::Null), &[]);
    }
}
