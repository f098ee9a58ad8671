//! Tests of references in trees; each reference is also found in the bytes of the same object.
#![allow(clippy::unwrap_used)]

use jsontree::{Value, json};
use schema::builtin;

use super::*;

/// Compares the result of `look` for the tree and for the bytes of a v1 object.
fn check<T: PartialEq + std::fmt::Debug>(
    kind: &str,
    value: Value,
    read: impl Fn(&Referrer<'_>) -> T,
    expected: T,
) {
    let tree = value.as_object().unwrap();
    let message = builtin::kind("v1", kind).unwrap();
    let mut raw = Vec::new();
    schema::proto::encode(message, tree, &mut raw).unwrap();
    for referrer in [Referrer::tree(tree), Referrer::message(message, &raw)] {
        assert_eq!(read(&referrer), expected, "{referrer:?}");
        assert!(referrer.is_certain());
    }
}

fn of_pod(referrer: &Referrer<'_>) -> Vec<String> {
    let mut references: Vec<String> =
        referrer.of_pod().iter().map(|(kind, name)| format!("{kind:?} {name}")).collect();
    references.sort();
    references
}

fn pod(spec: Value, status: Value, expected: &[&str]) {
    let mut expected: Vec<String> = expected.iter().map(|text| (*text).to_owned()).collect();
    expected.sort();
    check("Pod", json!({"metadata": {"name": "p"}, "spec": spec, "status": status}), of_pod, expected);
}

#[test]
fn all_containers_refer_to_secrets_and_config_maps() {
    let container = |suffix: &str| {
        json!({
            "name": "c",
            "env": [
                {"name": "A", "valueFrom": {"secretKeyRef": {"name": format!("s{suffix}"), "key": "k"}}},
                {"name": "B", "valueFrom": {"configMapKeyRef": {"name": format!("m{suffix}"), "key": "k"}}},
                {"name": "C", "value": "v"},
            ],
            "envFrom": [
                {"secretRef": {"name": format!("t{suffix}")}},
                {"configMapRef": {"name": format!("n{suffix}")}},
                {"secretRef": {"name": ""}},
            ],
        })
    };
    let spec = json!({
        "containers": [container("1")],
        "initContainers": [container("2")],
        "ephemeralContainers": [container("3")],
        "imagePullSecrets": [{"name": "pull"}],
        "serviceAccountName": "account",
    });
    let mut expected = vec!["Secret pull".to_owned(), "ServiceAccount account".to_owned()];
    for n in ["1", "2", "3"] {
        let named = [("Secret", "s"), ("ConfigMap", "m"), ("Secret", "t"), ("ConfigMap", "n")];
        expected.extend(named.map(|(kind, name)| format!("{kind} {name}{n}")));
    }
    pod(spec, json!({}), &expected.iter().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn volumes_refer_to_secrets_config_maps_and_claims() {
    let volumes = json!([
        {"name": "a", "secret": {"secretName": "secret"}},
        {"name": "b", "configMap": {"name": "map"}},
        {"name": "c", "projected": {"sources": [{"secret": {"name": "p1"}}, {"configMap": {"name": "p2"}}]}},
        {"name": "d", "persistentVolumeClaim": {"claimName": "claim"}},
        {"name": "e", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}},
        {"name": "f", "azureFile": {"secretName": "azure", "shareName": "s"}},
        {"name": "g", "csi": {"driver": "d", "nodePublishSecretRef": {"name": "csi"}}},
        {"name": "h", "rbd": {"image": "i", "secretRef": {"name": "rbd"}}},
        {"name": "i", "emptyDir": {}},
    ]);
    pod(
        json!({"volumes": volumes}),
        json!({}),
        &[
            "Secret secret",
            "ConfigMap map",
            "Secret p1",
            "ConfigMap p2",
            "Claim claim",
            "Claim p-e",
            "Secret azure",
            "Secret csi",
            "Secret rbd",
        ],
    );
}

#[test]
fn existing_device_claims_are_references() {
    let claims = json!([
        {"name": "a", "resourceClaimName": "named"},
        {"name": "b", "resourceClaimTemplateName": "t"},
        {"name": "c", "resourceClaimTemplateName": "t"},
        {"name": "d", "resourceClaimTemplateName": "t"},
    ]);
    let status = json!({
        "resourceClaimStatuses": [{"name": "b", "resourceClaimName": "made"}, {"name": "c"}],
        "extendedResourceClaimStatus": {"resourceClaimName": "extended", "requestMappings": []},
    });
    let expected = ["ResourceClaim named", "ResourceClaim made", "ResourceClaim extended"];
    pod(json!({"resourceClaims": claims}), status, &expected);
}

#[test]
fn volume_secrets_use_own_or_claim_namespace() {
    let volume = |source: Value, expected: &[(&str, &str)]| {
        let mut spec = json!({"claimRef": {"namespace": "ns", "name": "c"}});
        spec.as_object_mut().unwrap().extend(source.as_object().unwrap().clone());
        let value = json!({"metadata": {"name": "v"}, "spec": spec});
        let secrets_of = |referrer: &Referrer<'_>| {
            let secrets = referrer.secrets_of_persistent_volume();
            assert_eq!(referrer.claim(), Some(("ns", "c")));
            secrets.iter().map(|(ns, name)| ((*ns).to_owned(), (*name).to_owned())).collect::<Vec<_>>()
        };
        let expected = expected.iter().map(|(ns, name)| ((*ns).to_owned(), (*name).to_owned())).collect();
        check("PersistentVolume", value, secrets_of, expected);
    };
    let secret = |name: &str| json!({"namespace": "s", "name": name});
    volume(
        json!({"csi": {
            "driver": "d", "volumeHandle": "h",
            "controllerPublishSecretRef": secret("a"), "controllerExpandSecretRef": secret("b"),
            "nodePublishSecretRef": secret("c"), "nodeStageSecretRef": secret("d"), "nodeExpandSecretRef": secret("e"),
        }}),
        &[("s", "c"), ("s", "d"), ("s", "e")],
    );
    volume(json!({"azureFile": {"secretName": "a", "shareName": "x"}}), &[("ns", "a")]);
    volume(
        json!({"azureFile": {"secretName": "a", "secretNamespace": "s", "shareName": "x"}}),
        &[("s", "a")],
    );
    volume(
        json!({"iscsi": {"targetPortal": "t", "iqn": "i", "lun": 0, "secretRef": {"name": "a"}}}),
        &[("ns", "a")],
    );
    volume(json!({"storageos": {"secretRef": {"name": "a"}}}), &[("", "a")]);
    volume(json!({"hostPath": {"path": "/"}}), &[]);
}

#[test]
fn mirror_pod_and_node_are_detected() {
    let value = json!({
        "metadata": {"name": "p", "annotations": {MIRROR_ANNOTATION: "x"}},
        "spec": {"nodeName": "n1"},
    });
    check("Pod", value, |r| (r.is_mirror(), r.node_name().to_owned()), (true, "n1".to_owned()));
    check(
        "Pod",
        json!({"metadata": {}}),
        |r| (r.is_mirror(), r.node_name().to_owned()),
        (false, String::new()),
    );
}

/// Encodes a pod with a secret volume and a claim from a template, after `change`.
fn encoded_pod(change: impl FnOnce(&mut Value)) -> Vec<u8> {
    let mut value = json!({
        "metadata": {"name": "p", "labels": {"a": "b"}, "annotations": {"c": "d"}},
        "spec": {
            "nodeName": "n",
            "volumes": [{"name": "v", "secret": {"secretName": "s"}}],
            "resourceClaims": [{"name": "c", "resourceClaimTemplateName": "t"}],
        },
        "status": {
            "phase": "Pending",
            "resourceClaimStatuses": [{"name": "c", "resourceClaimName": "made"}],
            "extendedResourceClaimStatus": {"resourceClaimName": "extended", "requestMappings": []},
        },
    });
    change(&mut value);
    let mut raw = Vec::new();
    schema::proto::encode(builtin::kind("v1", "Pod").unwrap(), value.as_object().unwrap(), &mut raw).unwrap();
    raw
}

#[test]
fn pods_with_equal_members_share_references() {
    let original = encoded_pod(|_| ());
    let check = |expected: bool, change: fn(&mut Value)| {
        let changed = encoded_pod(change);
        assert_ne!(changed, original);
        let message = builtin::kind("v1", "Pod").unwrap();
        let pod = Referrer::message(message, &changed);
        let earlier = Referrer::message(message, &original);
        assert_eq!((pod.has_references_of(&earlier), earlier.has_references_of(&pod)), (expected, expected));
        let graph_input = |pod: &Referrer<'_>| (pod.node_name().to_owned(), pod.is_mirror(), of_pod(pod));
        assert_eq!(graph_input(&pod) == graph_input(&earlier), expected, "{changed:?}");
    };
    check(true, |pod| pod["metadata"]["labels"]["a"] = json!("x"));
    check(true, |pod| pod["metadata"]["annotations"]["c"] = json!("x"));
    check(true, |pod| pod["status"]["phase"] = json!("Running"));
    check(false, |pod| pod["spec"]["nodeName"] = json!("other"));
    check(false, |pod| pod["spec"]["volumes"][0]["secret"]["secretName"] = json!("x"));
    check(false, |pod| pod["status"]["resourceClaimStatuses"][0]["resourceClaimName"] = json!("x"));
    check(false, |pod| pod["status"]["extendedResourceClaimStatus"]["resourceClaimName"] = json!("x"));
    check(false, |pod| pod["metadata"]["annotations"][MIRROR_ANNOTATION] = json!("x"));
    check(false, |pod| pod["spec"] = json!({}));
    check(false, |pod| pod["status"] = json!({}));
}

#[test]
fn trees_share_no_references() {
    let tree = Object::new();
    assert!(!Referrer::tree(&tree).has_references_of(&Referrer::tree(&tree)));
}
