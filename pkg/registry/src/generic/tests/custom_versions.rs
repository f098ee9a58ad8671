//! Tests of custom resources whose served versions have different schemas.

use api::catalog::{CustomResource, Definition};
use api::resources::custom::{CustomKind, Names};

use super::*;

/// Installs a resource whose stored version `v1` has the field `m`, which `v1beta1` lacks.
fn install(world: &World) -> CustomResource {
    let text = json!({"type": "string"});
    let version = |name: &str, storage: bool, members: Value| {
        let spec = json!({"type": "object", "properties": members});
        let schema = json!({"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}});
        json!({"name": name, "served": true, "storage": storage, "schema": schema})
    };
    let spec = json!({
        "group": "a.test",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "kind": "Widget"},
        "versions": [
            version("v1beta1", false, json!({"x": text})),
            version("v1", true, json!({"x": text, "m": text})),
        ],
    });
    let names = Names::read(spec["names"].as_object().unwrap());
    let kind = CustomKind::of_stored(spec.as_object().unwrap(), &|_| None, &names, false, 37);
    let definition = Definition { group: "a.test", names: &names, namespaced: true, kind: Arc::new(kind) };
    let resource = definition.resource().unwrap();
    world.registry.install(resource.stored.clone(), &resource.served, None);
    resource
}

#[tokio::test]
async fn old_object_has_the_fields_of_the_request() {
    let world = World::new();
    let resource = install(&world);
    let of_version = |version: &str| {
        let mut rows = resource.served.iter().map(|handle| handle.row());
        rows.find(|row| row.version == version).unwrap()
    };
    let target = |version: &str, name| Target { resource: of_version(version), namespace: NAMESPACE, name };
    let widget = object(json!({
        "apiVersion": "a.test/v1", "kind": "Widget", "metadata": {"name": "a", "namespace": NAMESPACE},
        "spec": {"x": "1", "m": "2"},
    }));
    let request = CreateRequest { user: &world.user, dry_run: false, shares_labels: false, admit: &AdmitAll };
    world.registry.create(&target("v1", ""), widget, request).await.unwrap();
    let mut old_spec = Value::Null;
    let request = UpdateRequest { endpoint: of_version("v1beta1"), ..world.update("configmaps") };
    let mut change = |old: Option<&Object>| {
        let mut new = old.unwrap().clone();
        old_spec = new["spec"].clone();
        // As an apply or a webhook can.
        new["spec"]["unknown"] = json!(1);
        Ok(new)
    };
    world.registry.update(&target("v1beta1", "a"), &request, &mut change).await.unwrap();
    assert_eq!(old_spec, json!({"x": "1"}));
    let element = world.registry.get(&target("v1", "a"), "").await.unwrap();
    let storage = of_version("v1").storage.as_ref().unwrap();
    let stored = codec::decode(storage, StoredRef::element(&element)).unwrap();
    assert_eq!(stored["spec"], json!({"x": "1"}));
}
