//! Tests of StatefulSets: rejected values, with the paths and texts of the errors.

use super::*;

fn stateful_set(spec: Value) -> Object {
    let pod = json!({
        "restartPolicy": "Always", "dnsPolicy": "ClusterFirst", "terminationGracePeriodSeconds": 30,
        "containers": [{"name": "c", "image": "i", "imagePullPolicy": "Always", "terminationMessagePolicy": "File"}],
    });
    let mut all = json!({
        "replicas": 1, "serviceName": "s", "podManagementPolicy": "OrderedReady",
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
        "selector": {"matchLabels": {"app": "a"}},
        "template": {"metadata": {"labels": {"app": "a"}}, "spec": pod},
    });
    if let (Some(all), Value::Object(spec)) = (all.as_object_mut(), spec) {
        all.extend(spec);
    }
    let meta = json!({"name": "a", "namespace": "ns", "resourceVersion": "1"});
    Object::from_iter([("metadata".to_owned(), meta), ("spec".to_owned(), all)])
}

fn claim(name: &str) -> Value {
    let resources = json!({"requests": {"storage": "1Gi"}});
    json!({"metadata": {"name": name}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": resources}})
}

fn texts_of(errors: &ErrorList) -> Vec<String> {
    errors.iter().map(Error::to_string).collect()
}

fn check(spec: Value, expected: &[&str]) {
    assert_eq!(
        texts_of(&create(&stateful_set(spec.clone()), &ValidationContext::default())),
        expected,
        "{spec}"
    );
}

#[test]
fn policies_are_known_ones() {
    check(json!({}), &[]);
    check(json!({"podManagementPolicy": ""}), &["spec.podManagementPolicy: Required value"]);
    check(
        json!({"podManagementPolicy": "x"}),
        &["spec.podManagementPolicy: Invalid value: \"x\": must be 'OrderedReady' or 'Parallel'"],
    );
    let path = "spec.persistentVolumeClaimRetentionPolicy";
    let supported = "supported values: \"Retain\", \"Delete\"";
    check(
        json!({"persistentVolumeClaimRetentionPolicy": {"whenScaled": "Delete"}}),
        &[&format!("{path}.whenDeleted: Unsupported value: \"\": {supported}")],
    );
    check(
        json!({"ordinals": {"start": -1}}),
        &["spec.ordinals.start: Invalid value: -1: must be greater than or equal to 0"],
    );
}

#[test]
fn update_strategy_fits_its_type() {
    let of = |kind: &str, rolling: Value| json!({"updateStrategy": {"type": kind, "rollingUpdate": rolling}});
    let path = "spec.updateStrategy";
    check(json!({"updateStrategy": {}}), &[&format!("{path}: Required value")]);
    check(
        of("OnDelete", json!({"partition": 1})),
        &[&format!(
            "{path}.rollingUpdate: Invalid value: {{\"Partition\":1,\"MaxUnavailable\":null}}: only allowed for \
             updateStrategy 'RollingUpdate'"
        )],
    );
    check(
        json!({"updateStrategy": {"type": "x"}}),
        &[&format!(
            "{path}: Invalid value: {{\"Type\":\"x\",\"RollingUpdate\":null}}: must be 'RollingUpdate' or 'OnDelete'"
        )],
    );
    check(
        of("RollingUpdate", json!({"partition": -1, "maxUnavailable": 0})),
        &[
            &format!("{path}.rollingUpdate.partition: Invalid value: -1: must be greater than or equal to 0"),
            &format!("{path}.rollingUpdate.maxUnavailable: Invalid value: 0: cannot be 0"),
        ],
    );
}

#[test]
fn claim_volumes_replace_template_volumes() {
    let mut set = stateful_set(json!({"volumeClaimTemplates": [claim("b"), claim("a")]}));
    if let Some(pod) = set.get_mut("spec").and_then(|spec| spec.pointer_mut("/template/spec")) {
        pod["volumes"] = json!([{"name": "a", "emptyDir": {}}, {"name": "v", "emptyDir": {}}]);
        pod["hostname"] = "NOT A NAME".into();
        pod["containers"][0]["volumeMounts"] = json!([{"name": "b", "mountPath": "/b"}]);
    }
    assert_eq!(texts_of(&create(&set, &ValidationContext::default())), [""; 0]);
    check(
        json!({"volumeClaimTemplates": [{}]}),
        &[
            "spec.volumeClaimTemplates[0].spec.accessModes: Required value: at least 1 access mode is required",
            "spec.volumeClaimTemplates[0].spec.resources[storage]: Required value",
            "spec.template.spec.volumes[0].persistentVolumeClaim.claimName: Required value",
            "spec.template.spec.volumes[0].name: Required value",
        ],
    );
}

#[test]
fn template_metadata_is_validated_twice() {
    let mut set = stateful_set(json!({}));
    if let Some(meta) = set.get_mut("spec").and_then(|spec| spec.pointer_mut("/template/metadata")) {
        meta["labels"] = json!({"app": "a", "b": "-"});
    }
    let fields: Vec<String> =
        create(&set, &ValidationContext::default()).iter().map(|error| error.field().to_owned()).collect();
    assert_eq!(fields, ["spec.template.labels"; 2]);
}

#[test]
fn only_mutable_fields_change() {
    let old = stateful_set(json!({}));
    let check = |spec: Value, expected: &[&str]| {
        assert_eq!(texts_of(&update("", &stateful_set(spec), &old, &ValidationContext::default())), expected);
    };
    check(json!({"replicas": 3, "minReadySeconds": 1, "revisionHistoryLimit": 2}), &[]);
    check(
        json!({"serviceName": "NOT A NAME"}),
        &["spec.serviceName: Invalid value: \"NOT A NAME\": field is immutable"],
    );
    let changed = json!({"volumeClaimTemplates": [claim("a")], "podManagementPolicy": "Parallel"});
    let errors = update("", &stateful_set(changed), &old, &ValidationContext::default());
    let fields: Vec<&str> = errors.iter().map(Error::field).collect();
    assert_eq!(fields, ["spec.volumeClaimTemplates", "spec.podManagementPolicy"]);
}

#[test]
fn an_invalid_template_may_stay() {
    let bad = || {
        let mut set = stateful_set(json!({}));
        if let Some(pod) = set.get_mut("spec").and_then(|spec| spec.pointer_mut("/template/spec")) {
            pod["containers"] = json!([]);
        }
        set
    };
    assert_eq!(texts_of(&update("", &bad(), &bad(), &ValidationContext::default())), [""; 0]);
    assert_eq!(
        texts_of(&create(&bad(), &ValidationContext::default())),
        ["spec.template.spec.containers: Required value"]
    );
}

#[test]
fn status_is_validated_before_metadata() {
    let old = stateful_set(json!({}));
    let mut new = old.clone();
    new.insert("status".to_owned(), json!({"replicas": 1, "readyReplicas": 2, "availableReplicas": 3}));
    if let Some(meta) = new.get_mut("metadata") {
        meta["name"] = "b".into();
    }
    let expected = [
        "status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas",
        "status.availableReplicas: Invalid value: 3: cannot be greater than status.replicas",
        "status.availableReplicas: Invalid value: 3: cannot be greater than status.readyReplicas",
        "metadata.name: Invalid value: \"b\": field is immutable",
    ];
    assert_eq!(texts_of(&update("status", &new, &old, &ValidationContext::default())), expected);
}
