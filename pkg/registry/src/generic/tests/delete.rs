//! Tests of DELETE: finalizers, propagation, preconditions, namespaces, collections.

use api::options::{ListOptions, Preconditions};
use apimachinery::labels;
use storage::fault::{Fault, FaultyStorage, Operation, Plan};

use super::*;

fn finalizers(object: &Value) -> Vec<&str> {
    object["metadata"]["finalizers"].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

fn policy(text: &str) -> DeleteOptions {
    let propagation_policy = (!text.is_empty()).then(|| text.to_owned());
    DeleteOptions { propagation_policy, ..DeleteOptions::default() }
}

#[tokio::test]
async fn object_without_finalizers_is_removed_immediately() {
    let world = World::new();
    world.create_object("configmaps", "a", json!({})).await;
    assert_eq!(world.delete_and_get("configmaps", "a").await, None);
    let result = world.delete("configmaps", "a", &DeleteOptions::default()).await;
    assert_eq!(failure(result), expected_failure(404, Reason::NotFound, "configmaps \"a\" not found"));
}

#[tokio::test]
async fn kind_selects_status_or_object_response() {
    let world = World::new();
    for (plural, expected) in [("configmaps", "status"), ("pods", "object")] {
        world.create_object(plural, "a", json!({"spec": {}})).await;
        let outcome = world.delete(plural, "a", &DeleteOptions::default()).await.unwrap();
        let kind = match outcome {
            DeleteOutcome::Status(status) => {
                let details = status.details.unwrap();
                assert_eq!((details.name.as_str(), details.kind.as_str()), ("a", plural));
                "status"
            }
            DeleteOutcome::Object { gone, .. } => {
                assert!(gone);
                "object"
            }
        };
        assert_eq!(kind, expected, "{plural}");
    }
}

#[tokio::test]
async fn finalizers_hold_an_object_that_is_marked() {
    let world = World::new();
    let more = json!({"metadata": {"finalizers": ["x.y/z"]}, "spec": {}});
    world.create_object("deployments", "a", more).await;
    let marked = world.delete_and_get("deployments", "a").await.unwrap();
    assert_eq!(marked["metadata"]["deletionTimestamp"], "2025-01-01T00:00:00Z");
    assert_eq!(marked["metadata"]["deletionGracePeriodSeconds"], 0);
    assert_eq!(marked["metadata"]["generation"], 2);
    let again = world.delete_and_get("deployments", "a").await.unwrap();
    assert_eq!(again["metadata"]["generation"], 2, "only the first deletion counts");
}

#[tokio::test]
async fn the_propagation_policy_becomes_a_finalizer() {
    let check = async |existing: &[&str], options: DeleteOptions, expected: &[&str]| {
        let world = World::new();
        let more = json!({"metadata": {"finalizers": existing}, "spec": {}});
        world.create_object("deployments", "a", more).await;
        world.delete("deployments", "a", &options).await.unwrap();
        let remaining = world.get("deployments", "a").await.ok();
        assert_eq!(remaining.as_ref().map_or(vec![], finalizers), expected, "{existing:?} {options:?}");
    };
    let orphan = |orphan| DeleteOptions { orphan_dependents: Some(orphan), ..DeleteOptions::default() };
    check(&[], policy("Background"), &[]).await;
    check(&[], policy(""), &[]).await;
    check(&[], policy("Orphan"), &["orphan"]).await;
    check(&[], policy("Foreground"), &["foregroundDeletion"]).await;
    check(&["x.y/z"], policy("Foreground"), &["x.y/z", "foregroundDeletion"]).await;
    check(&["orphan"], policy("Foreground"), &["foregroundDeletion"]).await;
    check(&["orphan"], policy("Background"), &[]).await;
    check(&["orphan"], policy(""), &["orphan"]).await;
    check(&[], orphan(true), &["orphan"]).await;
    check(&["orphan"], orphan(false), &[]).await;
}

#[tokio::test]
async fn failed_preconditions_are_conflicts() {
    let check = async |uid: Option<&str>, version: Option<&str>, cause: &str| {
        let world = World::new();
        let created = world.create_object("configmaps", "a", json!({})).await;
        let version = version.map(str::to_owned);
        let preconditions = Preconditions { uid: uid.map(str::to_owned), resource_version: version };
        let options = DeleteOptions { preconditions: Some(preconditions), ..DeleteOptions::default() };
        let cause = cause.replace("{rv}", created["metadata"]["resourceVersion"].as_str().unwrap());
        let text = format!("Operation cannot be fulfilled on ConfigMap \"a\": {cause}");
        assert_eq!(
            failure(world.delete("configmaps", "a", &options).await),
            expected_failure(409, Reason::Conflict, &text)
        );
        assert_eq!(world.get("configmaps", "a").await.unwrap(), created);
    };
    check(
        Some("other"),
        None,
        "the UID in the precondition (other) does not match the UID in record (uid-1). \
         The object might have been deleted and then recreated",
    )
    .await;
    check(
        Some("uid-1"),
        Some("999"),
        "the ResourceVersion in the precondition (999) does not match the ResourceVersion in record ({rv}). \
         The object might have been modified",
    )
    .await;
}

#[tokio::test]
async fn met_preconditions_allow_deletion() {
    let world = World::new();
    let created = world.create_object("configmaps", "a", json!({})).await;
    let text = |name: &str| created["metadata"][name].as_str().map(str::to_owned);
    let preconditions = Preconditions { uid: text("uid"), resource_version: text("resourceVersion") };
    let options = DeleteOptions { preconditions: Some(preconditions), ..DeleteOptions::default() };
    world.delete("configmaps", "a", &options).await.unwrap();
    assert_eq!(failure(world.get("configmaps", "a").await).0, 404);
}

#[tokio::test]
async fn a_dry_deletion_changes_nothing() {
    let world = World::new();
    for finalizers in [json!([]), json!(["x.y/z"])] {
        let name = format!("with-{}", finalizers.as_array().unwrap().len());
        let created =
            world.create_object("configmaps", &name, json!({"metadata": {"finalizers": finalizers}})).await;
        let options = DeleteOptions::default();
        let request = DeleteRequest { options: &options, dry_run: true, admit: &AdmitAll };
        world.registry.delete(&target("configmaps", &name), &request).await.unwrap();
        assert_eq!(world.get("configmaps", &name).await.unwrap(), created);
    }
}

#[tokio::test]
async fn a_namespace_terminates_until_it_is_finalized() {
    let world = World::new();
    world.create_object("namespaces", "a", json!({})).await;
    let marked = world.delete_and_get("namespaces", "a").await.unwrap();
    assert_eq!(marked["status"]["phase"], "Terminating");
    assert_eq!(marked["metadata"]["deletionTimestamp"], "2025-01-01T00:00:00Z");
    let marked_revision = world.revision().await;
    assert_eq!(world.delete_and_get("namespaces", "a").await.unwrap(), marked);
    let again = world.delete("namespaces", "a", &DeleteOptions::default()).await.unwrap();
    assert!(matches!(again, DeleteOutcome::Object { gone: false, .. }), "it is the answer while it stays");
    assert_eq!(world.revision().await, marked_revision, "a second deletion has nothing to do");
    let mut finalized = marked;
    finalized["spec"]["finalizers"] = json!([]);
    world.put("namespaces/finalize", finalized).await.unwrap();
    assert_eq!(failure(world.get("namespaces", "a").await).0, 404);
}

#[tokio::test]
async fn a_collection_is_deleted_by_its_selector() {
    let world = World::new();
    for (name, app) in [("a", "x"), ("b", "y"), ("c", "x")] {
        world.create_object("configmaps", name, json!({"metadata": {"labels": {"app": app}}})).await;
    }
    let list = ListOptions { label_selector: labels::parse("app=x").unwrap(), ..ListOptions::default() };
    let options = DeleteOptions::default();
    let request = DeleteRequest { options: &options, dry_run: false, admit: &AdmitAll };
    let page = world.registry.delete_collection(&target("configmaps", ""), &list, &request).await.unwrap();
    assert_eq!(page.items.iter().count(), 2, "the list as it was found");
    let remaining = world.registry.list(&target("configmaps", ""), &ListOptions::default()).await.unwrap();
    let names: Vec<Value> = remaining
        .items
        .iter()
        .map(|item| decode("configmaps", StoredRef::element(&item))["metadata"]["name"].clone())
        .collect();
    assert_eq!(names, ["b"]);
}

#[tokio::test]
async fn namespace_precondition_error_names_resource() {
    let world = World::new();
    world.create_object("namespaces", "a", json!({})).await;
    let preconditions = Preconditions { uid: Some("other".to_owned()), resource_version: None };
    let options = DeleteOptions { preconditions: Some(preconditions), ..DeleteOptions::default() };
    let text = "Operation cannot be fulfilled on namespaces \"a\": Precondition failed: UID in precondition: other, \
                UID in object meta: uid-1";
    assert_eq!(
        failure(world.delete("namespaces", "a", &options).await),
        expected_failure(409, Reason::Conflict, text)
    );
}

#[tokio::test]
async fn first_namespace_deletion_sets_policy_finalizers() {
    for (text, expected) in
        [("", vec![]), ("Foreground", vec!["foregroundDeletion"]), ("Orphan", vec!["orphan"])]
    {
        let world = World::new();
        world.create_object("namespaces", "a", json!({})).await;
        world.delete("namespaces", "a", &policy(text)).await.unwrap();
        assert_eq!(finalizers(&world.get("namespaces", "a").await.unwrap()), expected, "{text:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn pod_changed_between_mark_and_removal_is_removed() {
    for vanishes in [true, false] {
        let store = Arc::new(Memory::new());
        let late = (Operation::Delete, 0, Fault::Delay(Duration::from_millis(10)));
        let faulty = Arc::new(FaultyStorage::new(store.clone(), Plan::script([late])));
        let resources = crate::ingest::resources("/registry", Gates::default(), |_| true);
        let world = World::with(store, Delegator::uncached(faulty, resources));
        world.create_object("pods", "a", json!({"spec": {}})).await;
        let concurrent_write = async {
            tokio::time::sleep(Duration::from_millis(5)).await;
            let kv = world.store.get("/registry/pods/ns/a").await.unwrap().kv.unwrap();
            if vanishes {
                world.store.delete(&kv.key, kv.mod_revision).await
            } else {
                world.store.put(&kv.key, kv.value, kv.mod_revision, None).await
            }
        };
        let options = DeleteOptions::default();
        let (outcome, concurrent_write) = tokio::join!(world.delete("pods", "a", &options), concurrent_write);
        assert!(matches!(concurrent_write.unwrap(), storage::PutResult::Done(_)));
        assert!(matches!(outcome.unwrap(), DeleteOutcome::Object { gone: true, .. }), "{vanishes}");
        assert_eq!(failure(world.get("pods", "a").await).0, 404);
    }
}
