//! Tests of objects that are too large for the store.

use storage::memory::VALUE_BYTES_MAX;

use super::*;

/// Deployment that fits only without its managed fields.
fn large() -> Object {
    let managed = json!([{
        "manager": "m".repeat(100), "operation": "Update", "apiVersion": "apps/v1", "fieldsType": "FieldsV1",
        "fieldsV1": "{\"f:spec\":{\"f:replicas\":{}}}", "time": "2025-01-01T00:00:00Z",
    }]);
    let container = |bytes: usize| {
        let env = json!([{"name": "A", "value": "x".repeat(bytes)}]);
        json!({"template": {
            "metadata": {"labels": {"app": "a"}},
            "spec": {"containers": [{"name": "c", "image": "i", "env": env}]},
        }})
    };
    let size =
        |object: &Object| codec::encode(row("deployments").storage.as_ref().unwrap(), object).unwrap().len();
    let alone = |bytes| named("deployments", "a", json!({"spec": container(bytes)}));
    // Space for the system metadata: a uid, a creation time, a generation.
    let bytes = VALUE_BYTES_MAX - size(&alone(0)) - 80;
    named("deployments", "a", json!({"spec": container(bytes), "metadata": {"managedFields": managed}}))
}

fn managed(object: &Value) -> bool {
    object["metadata"].get("managedFields").is_some()
}

#[tokio::test]
async fn managed_fields_are_dropped_if_too_large() {
    let world = World::new();
    let created = world.post("deployments", large(), false).await.unwrap();
    assert!(!managed(&created));
    let mut again = object(created);
    again["metadata"]["managedFields"] = large()["metadata"]["managedFields"].clone();
    again["spec"]["replicas"] = 2.into();
    let updated = world.put("deployments", Value::Object(again.clone())).await.unwrap();
    assert!(updated["spec"]["replicas"] == 2 && !managed(&updated));
    let request = UpdateRequest { keeps_managers: true, ..world.update("deployments") };
    let mut change = |_: Option<&Object>| Ok(again.clone());
    let applied = world.registry.update(&target("deployments", "a"), &request, &mut change).await;
    assert_eq!(failure(applied).0, 409, "the version is stale by now");
    again["metadata"]["resourceVersion"] = updated["metadata"]["resourceVersion"].clone();
    again["spec"]["replicas"] = 3.into();
    let mut change = |_: Option<&Object>| Ok(again.clone());
    let applied = world.registry.update(&target("deployments", "a"), &request, &mut change).await;
    let (code, _, text) = failure(applied);
    assert_eq!((code, &*text), (500, "etcdserver: request is too large"));
}

#[test]
fn too_deep_object_is_a_bad_request() {
    let nested = (0..schema::json::TREE_DEPTH_MAX).fold(json!({}), |inner, _| json!({"not": inner}));
    let versions = json!([{"name": "v1", "schema": {"openAPIV3Schema": nested}}]);
    let definition = json!({"spec": {"versions": versions}});
    let row = api::resources::find("apiextensions.k8s.io", "v1", "customresourcedefinitions", "").unwrap();
    let encoded = codec::encode(row.storage.as_ref().unwrap(), definition.as_object().unwrap());
    let status: Box<Status> = encoded.unwrap_err().into();
    assert_eq!((status.code, &*status.message), (400, "the object is nested too deeply"));
}
