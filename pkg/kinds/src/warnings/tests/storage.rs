//! Tests of warnings about volumes, claims, storage classes and drivers
//! (`pkg/api/{persistentvolume,persistentvolumeclaim,storage}/util.go`, `pkg/registry/storage/csidriver`).

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
    let expected = ["spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to \
                     true to prevent possible logging of tokens in volume attributes"];
    let group = "storage.k8s.io";
    let plural = "csidrivers";
    created(group, plural, driver(some.clone(), Value::Null), &expected);
    created(group, plural, driver(some.clone(), json!(false)), &[]);
    created(group, plural, driver(json!([]), Value::Null), &[]);
    updated(group, plural, driver(other, Value::Null), driver(some.clone(), Value::Null), &expected);
    updated(group, plural, driver(some.clone(), Value::Null), driver(some, Value::Null), &[]);
}
