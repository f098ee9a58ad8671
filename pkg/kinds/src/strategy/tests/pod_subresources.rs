//! Tests of pod subresources.

use super::*;

fn pod(label: &str, spec: Value) -> Value {
    json!({
        "metadata": {"labels": {"l": label}, "generation": 1},
        "spec": spec,
        "status": {"phase": label},
    })
}

#[test]
fn ephemeral_containers_change_nothing_else() {
    let check = |old: Value, new: Value, expected: Value, generation: i64| {
        let put = updated("pods/ephemeralcontainers", pod("old", old), pod("new", new));
        let mut expected_pod = pod("old", expected);
        expected_pod["metadata"]["generation"] = generation.into();
        assert_eq!(put, expected_pod);
    };
    let with = |image: &str| json!({"hostname": image, "ephemeralContainers": [{"name": "e"}]});
    check(json!({"hostname": "a"}), with("b"), with("a"), 2);
    check(with("a"), with("b"), with("a"), 1);
    check(with("a"), json!({"hostname": "b"}), json!({"hostname": "a"}), 2);
}

#[test]
fn a_resize_changes_resources_and_nothing_else() {
    let spec = |host: &str, cpu: i64, image: &str| {
        json!({
            "hostname": host,
            "resources": {"requests": {"cpu": cpu}},
            "containers": [{"name": "c", "image": image, "resources": {"requests": {"cpu": cpu}}}],
            "initContainers": [{"name": "i", "image": image, "resizePolicy": [{"resourceName": cpu}]}],
        })
    };
    let put = updated("pods/resize", pod("old", spec("a", 1, "x")), pod("new", spec("b", 2, "y")));
    let mut expected = pod("old", spec("a", 2, "x"));
    expected["metadata"]["generation"] = 2.into();
    assert_eq!(put, expected);
}

/// Validation then rejects it.
#[test]
fn a_subresource_does_not_restore_the_uid() {
    let with = |uid: &str, label: &str| json!({"metadata": {"uid": uid, "labels": {"l": label}}, "spec": {}});
    for path in ["pods/ephemeralcontainers", "pods/resize"] {
        let put = updated(path, with("of the pod", "old"), with("another", "new"));
        let metadata = (&put["metadata"]["uid"], &put["metadata"]["labels"]["l"]);
        assert_eq!(metadata, (&json!("another"), &json!("old")), "{path}");
    }
}

#[test]
fn resize_with_other_containers_fails_validation() {
    let spec = |name: &str, more: Value| {
        json!({
            "containers": [{"name": name, "image": name}],
            "initContainers": more,
        })
    };
    let put = |new: Value| updated("pods/resize", pod("old", spec("a", json!([]))), pod("new", new));
    let renamed = put(spec("b", json!([])));
    assert_eq!(renamed["spec"]["containers"], json!([{"name": "b", "image": "b"}]));
    let more = put(spec("a", json!([{"name": "i"}])));
    assert_eq!(
        (&more["spec"]["initContainers"], &more["status"]),
        (&json!([{"name": "i"}]), &json!({"phase": "new"}))
    );
}

#[test]
fn status_write_keeps_omitted_fields() {
    let check = |old: Value, new: Value, expected: Value| {
        let of = |status: &Value| json!({"metadata": {}, "spec": {}, "status": status});
        assert_eq!(updated("pods/status", of(&old), of(&new))["status"], expected);
    };
    check(json!({"qosClass": "Burstable"}), json!({}), json!({"qosClass": "Burstable"}));
    check(
        json!({"qosClass": "Burstable"}),
        json!({"qosClass": "Guaranteed"}),
        json!({"qosClass": "Guaranteed"}),
    );
    check(
        json!({"observedGeneration": 2}),
        json!({"phase": "p"}),
        json!({"phase": "p", "observedGeneration": 2}),
    );
    check(
        json!({"observedGeneration": 2}),
        json!({"observedGeneration": 1}),
        json!({"observedGeneration": 1}),
    );
    let claims = json!([{"name": "c"}]);
    check(json!({"resourceClaimStatuses": claims}), json!({}), json!({"resourceClaimStatuses": claims}));
    check(
        json!({"resourceClaimStatuses": claims}),
        json!({"resourceClaimStatuses": []}),
        json!({"resourceClaimStatuses": []}),
    );
    let condition = |ty: &str, generation: i64| json!({"type": ty, "observedGeneration": generation});
    let plain = |ty: &str| json!({"type": ty});
    check(
        json!({"conditions": [condition("A", 3), condition("A", 4)]}),
        json!({"conditions": [plain("A"), plain("B"), plain("A"), plain("A")]}),
        json!({"conditions": [condition("A", 3), plain("B"), condition("A", 4), plain("A")]}),
    );
}
