//! Tests of POST.

use kinds::validation::kinds::Settings;

use super::*;

/// Count of random numbers for one generated name.
const SUFFIX: usize = 5;

fn generated() -> Object {
    let mut object = named("configmaps", "", json!({"metadata": {"generateName": "a-"}}));
    crate::meta::set_text(&mut object, "name", "");
    object
}

#[tokio::test]
async fn created_object_has_system_metadata() {
    let world = World::new();
    let created = world.create_object("configmaps", "a", json!({"data": {"k": "v"}})).await;
    assert_eq!(created["metadata"]["uid"], "uid-1");
    assert_eq!(created["metadata"]["creationTimestamp"], "2025-01-01T00:00:00Z");
    assert_eq!(created["metadata"]["resourceVersion"], world.revision().await.to_string());
    assert_eq!(created["data"]["k"], "v");
    assert_eq!(world.get("configmaps", "a").await.unwrap(), created);
}

#[tokio::test]
async fn privileged_containers_need_the_flag() {
    let mut world = World::new();
    let container = json!({"name": "c", "image": "i", "securityContext": {"privileged": true}});
    let pod = || named("pods", "a", json!({"spec": {"containers": [container]}}));
    let refused = world.post("pods", pod(), false).await;
    let text = "Pod \"a\" is invalid: spec.containers[0].securityContext.privileged: Forbidden: disallowed by \
        cluster policy";
    assert_eq!(failure(refused), expected_failure(422, Reason::Invalid, text));
    world.registry =
        world.registry.clone().with_settings(Settings { allow_privileged: true, ..Settings::default() });
    world.post("pods", pod(), false).await.unwrap();
}

#[tokio::test]
async fn event_errors_name_storage_group() {
    let events = api::resources::find("events.k8s.io", "v1", "events", "").unwrap();
    let target = Target { resource: events, namespace: NAMESPACE, name: "e" };
    assert_eq!(target.group_kind().to_string(), "Event");
    assert_eq!(target.group_resource().to_string(), "events.events.k8s.io");
}

#[tokio::test]
async fn keys_match_upstream() {
    let world = World::new();
    for (plural, key) in [
        ("configmaps", "/registry/configmaps/ns/x"),
        ("namespaces", "/registry/namespaces/x"),
        ("leases", "/registry/leases/ns/x"),
        ("clusterroles", "/registry/clusterroles/x"),
        ("nodes", "/registry/minions/x"),
        ("services", "/registry/services/specs/ns/x"),
        ("endpoints", "/registry/services/endpoints/ns/x"),
    ] {
        world.create_object(plural, "x", json!({})).await;
        assert!(world.store.get(key).await.unwrap().kv.is_some(), "{key}");
    }
}

#[tokio::test]
async fn existing_object_is_a_conflict() {
    let world = World::new();
    world.create_object("configmaps", "a", json!({})).await;
    let result = world.post("configmaps", named("configmaps", "a", json!({})), false).await;
    assert_eq!(
        failure(result),
        expected_failure(409, Reason::AlreadyExists, "configmaps \"a\" already exists")
    );
}

#[tokio::test]
async fn conflict_with_terminating_object_mentions_deletion() {
    let world = World::new();
    world.create_object("configmaps", "a", json!({"metadata": {"finalizers": ["x.y/z"]}})).await;
    world.delete_and_get("configmaps", "a").await.unwrap();
    let result = world.post("configmaps", named("configmaps", "a", json!({})), false).await;
    let text = "object is being deleted: configmaps \"a\" already exists";
    assert_eq!(failure(result), expected_failure(409, Reason::AlreadyExists, text));
}

#[tokio::test]
async fn generated_name_is_retried_seven_times() {
    let world = World::new();
    let existing = world.post("configmaps", generated(), false).await.unwrap();
    let free_on_try = |n: usize| {
        let mut numbers = vec![0; SUFFIX * (n - 1)];
        numbers.extend([u32::MAX; SUFFIX]);
        *world.script.numbers.lock().unwrap() = numbers.into();
    };
    free_on_try(8);
    let created = world.post("configmaps", generated(), false).await.unwrap();
    assert_ne!(created["metadata"]["name"], existing["metadata"]["name"]);
    free_on_try(9);
    let name = existing["metadata"]["name"].as_str().unwrap();
    let text = format!(
        "configmaps \"{name}\" already exists, the server was not able to generate a unique name for the object"
    );
    let result = world.post("configmaps", generated(), false).await;
    assert_eq!(failure(result), expected_failure(409, Reason::AlreadyExists, &text));
}

#[tokio::test]
async fn given_name_is_not_retried() {
    let world = World::new();
    let object = || named("configmaps", "a", json!({"metadata": {"generateName": "a-"}}));
    world.post("configmaps", object(), false).await.unwrap();
    assert_eq!(failure(world.post("configmaps", object(), false).await).0, 409);
    assert_eq!(world.script.uids.load(Ordering::Relaxed), 2, "one attempt each");
}

#[tokio::test]
async fn nonzero_resource_version_is_rejected() {
    let check = async |version: &str, expected: Option<(u16, Reason, String)>| {
        let world = World::new();
        let object = named("configmaps", "a", json!({"metadata": {"resourceVersion": version}}));
        let result = world.post("configmaps", object, false).await;
        assert_eq!(result.is_err().then(|| failure(result)), expected, "{version:?}");
    };
    check("", None).await;
    check("0", None).await;
    check(
        "7",
        Some(expected_failure(
            500,
            Reason::Unknown,
            "resourceVersion should not be set on objects to be created",
        )),
    )
    .await;
}

#[tokio::test]
async fn dry_run_writes_nothing() {
    let world = World::new();
    let revision = world.revision().await;
    let created = world.post("configmaps", named("configmaps", "a", json!({})), true).await.unwrap();
    assert!(created["metadata"].get("resourceVersion").is_none());
    assert_eq!(created["metadata"]["uid"], "uid-1");
    assert_eq!(world.revision().await, revision);
    assert_eq!(failure(world.get("configmaps", "a").await).0, 404);
}

#[tokio::test]
async fn dry_run_returns_sent_resource_version() {
    let object = named("configmaps", "a", json!({"metadata": {"resourceVersion": "7"}}));
    let created = World::new().post("configmaps", object, true).await.unwrap();
    assert_eq!(created["metadata"]["resourceVersion"], "7");
}

#[tokio::test]
async fn dry_run_detects_conflicts() {
    let world = World::new();
    world.create_object("configmaps", "a", json!({})).await;
    let result = world.post("configmaps", named("configmaps", "a", json!({})), true).await;
    assert_eq!(failure(result).1, Reason::AlreadyExists);
}

#[tokio::test]
async fn a_bad_name_is_invalid() {
    let world = World::new();
    let (code, reason, message) =
        failure(world.post("configmaps", named("configmaps", "A_b", json!({})), false).await);
    assert_eq!((code, reason), (422, Reason::Invalid));
    assert!(
        message.starts_with("ConfigMap \"A_b\" is invalid: metadata.name: Invalid value: \"A_b\""),
        "{message}"
    );
}

#[tokio::test]
async fn clients_do_not_create_status() {
    let world = World::new();
    for (plural, phase) in [("namespaces", "Active"), ("pods", "Pending")] {
        let created =
            world.create_object(plural, "x", json!({"spec": {}, "status": {"phase": "Mine"}})).await;
        assert_eq!(created["status"]["phase"], phase, "{plural}");
    }
    let created =
        world.create_object("deployments", "x", json!({"spec": {}, "status": {"replicas": 3}})).await;
    assert!(created["status"].get("replicas").is_none());
}

#[tokio::test]
async fn generation_starts_at_one() {
    let world = World::new();
    let created = world.create_object("deployments", "x", json!({"metadata": {"generation": 9}})).await;
    assert_eq!(created["metadata"]["generation"], 1);
}

#[tokio::test(start_paused = true)]
async fn events_expire() {
    let world = World::new();
    world.create_object("events", "e", json!({"involvedObject": {"namespace": NAMESPACE}})).await;
    let mut changes = world.store.watch("/registry/events/", Default::default()).await.unwrap();
    let start = tokio::time::Instant::now();
    futures::StreamExt::next(&mut changes).await.unwrap().unwrap();
    assert_eq!(start.elapsed().as_secs(), EVENT_TTL.as_secs());
    assert_eq!(failure(world.get("events", "e").await).0, 404);
}

#[tokio::test]
async fn new_namespace_has_finalizer_and_label() {
    let world = World::new();
    let created = world.create_object("namespaces", "x", json!({})).await;
    assert_eq!(created["spec"]["finalizers"], json!(["kubernetes"]));
    assert_eq!(created["metadata"]["labels"], json!({"kubernetes.io/metadata.name": "x"}));
}

#[tokio::test]
async fn signing_request_records_user() {
    let world = World::new();
    let spec = json!({"signerName": "a.b/c", "username": "somebody-else", "groups": ["g"]});
    let created = world.create_object("certificatesigningrequests", "x", json!({ "spec": spec })).await;
    assert_eq!(created["spec"]["username"], "tester");
    assert!(created["spec"].get("groups").is_none());
}

#[tokio::test]
async fn response_has_defaults_omitted_from_storage() {
    let world = World::new();
    let created =
        world.create_object("persistentvolumeclaims", "a", json!({"status": {"phase": "Bound"}})).await;
    assert_eq!(created["status"]["phase"], "Pending");
    assert_eq!(world.get("persistentvolumeclaims", "a").await.unwrap(), created);
}
