//! Tests of nodes.

use super::*;
use jsontree::json;

fn node(rest: Value) -> Object {
    let mut object = rest.as_object().cloned().unwrap_or_default();
    let meta = object.entry("metadata").or_insert_with(|| json!({}));
    if let Some(meta) = meta.as_object_mut() {
        meta.extend([("name".to_owned(), "n".into()), ("resourceVersion".to_owned(), "1".into())]);
    }
    object
}

fn check(rest: Value, expected: &[(&str, &str)]) {
    let errors = create(&node(rest.clone()), &ValidationContext::default());
    let got: Vec<(&str, &str)> = errors.iter().map(|e| (e.reason(), e.field())).collect();
    assert_eq!(got, expected, "{rest}");
}

#[test]
fn taints_are_labels_with_effects() {
    check(json!({"spec": {"taints": [{"key": "a", "effect": "NoExecute"}]}}), &[]);
    check(
        json!({"spec": {"taints": [{"key": "a b", "value": "-"}, {"key": "a b", "effect": "x"}]}}),
        &[
            ("FieldValueInvalid", "metadata.taints[0].key"),
            ("FieldValueInvalid", "metadata.taints[0].value"),
            ("FieldValueRequired", "metadata.taints[0].effect"),
            ("FieldValueInvalid", "metadata.taints[1].key"),
            ("FieldValueNotSupported", "metadata.taints[1].effect"),
        ],
    );
    let errors = create(
        &node(json!({"spec": {"taints": [
        {"key": "a", "effect": "NoExecute"}, {"key": "a", "effect": "NoExecute"}]}})),
        &ValidationContext::default(),
    );
    let texts: Vec<String> = errors.iter().map(Error::to_string).collect();
    assert_eq!(
        texts,
        ["metadata.taints[1]: Duplicate value: {\"Key\":\"a\",\"Value\":\"\",\"Effect\":\
        \"NoExecute\",\"TimeAdded\":null}: taints must be unique by key and effect pair"]
    );
}

#[test]
fn annotations_hold_taints() {
    let annotated =
        |value: &str| json!({"metadata": {"annotations": {"scheduler.alpha.kubernetes.io/taints": value}}});
    check(annotated(r#"[{"key": "a", "effect": "NoExecute"}]"#), &[]);
    check(annotated("["), &[("FieldValueInvalid", "metadata.annotations")]);
    let path = "metadata.annotations.scheduler.alpha.kubernetes.io/taints[0].effect";
    check(annotated(r#"[{"Key": "a"}]"#), &[("FieldValueRequired", path)]);
}

#[test]
fn a_node_has_a_range_per_family() {
    let ranges = |ranges: &[&str]| json!({"spec": {"podCIDRs": ranges}});
    check(ranges(&["10.0.0.0/24", "2001:db8::/64"]), &[]);
    check(ranges(&["10.0.0.0/24", "10.0.1.0/24"]), &[("FieldValueInvalid", "spec.podCIDRs")]);
    check(
        ranges(&["x", "10.0.1.0/24"]),
        &[
            ("FieldValueInvalid", "spec.podCIDRs[0]"),
            ("InternalError", "spec.podCIDRs"),
            ("FieldValueInvalid", "spec.podCIDRs"),
        ],
    );
}

#[test]
fn features_are_sorted_words() {
    let features = |list: &[&str]| json!({"status": {"declaredFeatures": list}});
    check(features(&["A", "Bc/d1"]), &[]);
    check(features(&["a"]), &[("FieldValueInvalid", "status.declaredFeatures[0]")]);
    check(features(&["B", "A"]), &[("FieldValueInvalid", "status.declaredFeatures[1]")]);
    check(features(&["A", "A"]), &[("FieldValueDuplicate", "status.declaredFeatures[1]")]);
}

#[test]
fn quantities_are_not_negative() {
    check(
        json!({"status": {"capacity": {"cpu": "-1"}, "allocatable": {"pods": "1500m"}}}),
        &[("FieldValueInvalid", "status.capacity.cpu"), ("FieldValueInvalid", "status.allocatable.pods")],
    );
}

#[test]
fn ranges_are_set_once() {
    let with = |ranges: &[&str], id: &str| node(json!({"spec": {"podCIDRs": ranges, "providerID": id}}));
    let check = |new: Object, old: Object, expected: &[&str]| {
        let errors = update("", &new, &old, &ValidationContext::default());
        assert_eq!(errors.iter().map(Error::field).collect::<Vec<_>>(), expected);
    };
    check(with(&["10.0.0.0/24"], "a"), with(&[], ""), &[]);
    check(with(&["10.0.0.0/24"], "a"), with(&["10.0.1.0/24"], "b"), &["spec.podCIDRs", "spec.providerID"]);
    let map = json!({"spec": {"configSource": {"configMap": {"uid": "u", "namespace": "a", "name": "b", "kubeletConfigKey": "k"}}}});
    check(node(map), node(json!({})), &["spec.configSource.configMap.uid"]);
}
