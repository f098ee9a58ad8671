//! Tests of the rows' common behaviour and of the kinds that differ: status, metadata, generation.

use super::*;

#[test]
fn creation_clears_the_status_except_of_nodes() {
    let check = |plural: &str, expected: Option<Value>| {
        let created_object = created(plural, json!({"metadata": {"name": "a"}, "status": {"phase": "x"}}));
        assert_eq!(created_object.get("status").cloned(), expected, "{plural}");
    };
    check("deployments", None);
    check("ingresses", None);
    check("podcertificaterequests", None);
    check("podgroups", None);
    check("nodes", Some(json!({"phase": "x"})));
    check("pods", Some(json!({"phase": "Pending", "qosClass": "BestEffort"})));
}

#[test]
fn resource_update_keeps_old_status() {
    for plural in ["deployments", "nodes", "pods", "podgroups", "podcertificaterequests"] {
        let status = |x: i64| json!({"metadata": {}, "status": {"x": x}});
        assert_eq!(updated(plural, status(1), status(2))["status"], json!({"x": 1}), "{plural}");
    }
}

#[test]
fn status_endpoint_keeps_new_managed_fields() {
    let of = |label: &str, manager: &str| {
        json!({
            "metadata": {"labels": {"l": label}, "managedFields": [{"manager": manager}]},
            "status": label,
        })
    };
    for endpoint in ["volumeattachments/status", "flowschemas/status", "podcertificaterequests/status"] {
        let put = updated(endpoint, of("old", "a"), of("new", "b"));
        let expected = json!({"labels": {"l": "old"}, "managedFields": [{"manager": "b"}]});
        assert_eq!((&put["metadata"], &put["status"]), (&expected, &json!("new")), "{endpoint}");
    }
}

#[test]
fn generation_counts_changes_per_kind() {
    let check = |path: &str, old: Value, change: Value, expected: i64| {
        let mut old = object(old);
        meta::set_generation(&mut old, 3);
        let mut new = old.clone();
        new.extend(object(change));
        let put = updated(path, Value::Object(old), Value::Object(new));
        assert_eq!(meta::generation(&object(put)), expected, "{path}");
    };
    check("deployments", json!({"spec": {"replicas": 1}}), json!({"spec": {"replicas": 2}}), 4);
    check("deployments", json!({}), json!({"metadata": {"annotations": {"a": "b"}}}), 4);
    check("deployments", json!({}), json!({"metadata": {"annotations": {}}}), 3);
    check("deployments", json!({}), json!({"metadata": {"labels": {"a": "b"}}}), 3);
    check("deployments/status", json!({}), json!({"status": {"replicas": 2}}), 3);
    check("endpointslices", json!({}), json!({"metadata": {"labels": {"a": "b"}}}), 4);
    check("priorityclasses", json!({"value": 1}), json!({"description": "text"}), 3);
    check("csidrivers", json!({"spec": {}}), json!({"spec": {"requiresRepublish": true}}), 4);
    check("pods/resize", json!({"spec": {}}), json!({"spec": {"resources": {}}}), 4);
    check("services", json!({"spec": {}}), json!({"spec": {"type": "ClusterIP"}}), 3);
}

#[test]
fn initial_generation_depends_on_kind() {
    assert_eq!(created("csidrivers", json!({"metadata": {}, "spec": {}}))["metadata"], json!({}));
    assert_eq!(created("deployments", json!({"metadata": {}}))["metadata"], json!({"generation": 1}));
}

#[test]
fn custom_resource_never_gets_built_in_strategy() {
    use api::resources::{CustomTexts, Handle, Resource};
    for plural in ["priorityclasses", "csidrivers", "endpointslices", "services", "pods", "nodes"] {
        let texts = CustomTexts {
            group: "example.com".to_owned(),
            plural: plural.to_owned(),
            ..CustomTexts::default()
        };
        let handle = Handle::custom(texts, |row, _| Resource { sets_generation: true, ..row });
        let create = |object: Value| {
            let mut object = object.as_object().cloned().unwrap_or_default();
            crate::strategy::prepare_for_create(handle.row(), &mut object, &context(&UserInfo::default()));
            Value::Object(object)
        };
        let object = json!({"metadata": {}, "spec": {}, "status": {"a": 1}});
        let mut expected = object.clone();
        expected["metadata"] = json!({"generation": 1});
        assert_eq!(create(object), expected, "{plural}");
    }
}
