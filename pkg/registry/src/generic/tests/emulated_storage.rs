//! Tests of storage versions next to servers of an older release.

use component_base::features::{Effective, Release};
use kinds::validation::kinds::Settings;
use schema::proto::Envelope;

use super::*;

const CLASSES: &str = "volumeattributesclasses";

/// Registry next to servers of 1.`minor`.
fn beside(minor: u32) -> World {
    let effective = Effective { min_compatibility: Release::minor_of_1(minor), ..Effective::default() };
    let settings = Settings { gates: Gates::defaults(effective), ..Settings::default() };
    let world = World::new();
    World { registry: world.registry.clone().with_settings(settings), ..world }
}

async fn stored_version(world: &World, name: &str) -> String {
    let response = world.store.get(&format!("/registry/{CLASSES}/{name}")).await.unwrap();
    Envelope::parse(&response.kv.unwrap().value).unwrap().api_version.into_owned()
}

#[tokio::test]
async fn objects_are_stored_in_version_of_oldest_server() {
    for (minor, expected) in [(33, "storage.k8s.io/v1beta1"), (35, "storage.k8s.io/v1")] {
        let world = beside(minor);
        let created =
            world.create_object(CLASSES, "a", json!({"driverName": "d", "parameters": {"a": "b"}})).await;
        assert_eq!(stored_version(&world, "a").await, expected);
        assert_eq!(created["apiVersion"], "storage.k8s.io/v1");
        assert_eq!(world.get(CLASSES, "a").await.unwrap(), created, "what is read is of the usual version");
        let mut changed = created.clone();
        changed["metadata"]["finalizers"] = json!(["a/b"]);
        let changed = world.put(CLASSES, changed).await.unwrap();
        assert_eq!(stored_version(&world, "a").await, expected);
        assert_eq!(changed["metadata"]["finalizers"], json!(["a/b"]));
        let remaining = world.delete_and_get(CLASSES, "a").await.unwrap();
        assert_eq!(stored_version(&world, "a").await, expected);
        assert!(remaining["metadata"]["deletionTimestamp"].is_string());
    }
}

#[tokio::test]
async fn no_op_update_in_older_version_writes_nothing() {
    let world = beside(33);
    let created =
        world.create_object(CLASSES, "a", json!({"driverName": "d", "parameters": {"a": "b"}})).await;
    let revision = world.revision().await;
    assert_eq!(world.put(CLASSES, created.clone()).await.unwrap(), created);
    assert_eq!(world.revision().await, revision);
}
