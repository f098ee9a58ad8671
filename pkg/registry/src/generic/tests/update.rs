//! Tests of PUT, and of its common parts with PATCH.

use apimachinery::status::OPTIMISTIC_LOCK;
use component_base::metrics::MetricsRegistry;

use super::*;

fn with(mut object: Value, pointer: &str, value: Value) -> Value {
    *object.pointer_mut(pointer).unwrap() = value;
    object
}

fn without(mut object: Value, name: &str) -> Value {
    object["metadata"].as_object_mut().unwrap().remove(name);
    object
}

#[tokio::test]
async fn a_put_replaces_and_moves_the_resource_version() {
    let world = World::new();
    let created = world.create_object("configmaps", "a", json!({"data": {"k": "1"}})).await;
    let updated = world.put("configmaps", with(created.clone(), "/data/k", json!("2"))).await.unwrap();
    assert_eq!(updated["data"]["k"], "2");
    assert_ne!(updated["metadata"]["resourceVersion"], created["metadata"]["resourceVersion"]);
    assert_eq!(world.get("configmaps", "a").await.unwrap(), updated);
}

#[tokio::test]
async fn stale_put_conflicts() {
    let world = World::new();
    let created = world.create_object("configmaps", "a", json!({"data": {"k": "1"}})).await;
    world.put("configmaps", with(created.clone(), "/data/k", json!("2"))).await.unwrap();
    let text = format!("Operation cannot be fulfilled on configmaps \"a\": {OPTIMISTIC_LOCK}");
    assert_eq!(
        failure(world.put("configmaps", created).await),
        expected_failure(409, Reason::Conflict, &text)
    );
}

#[tokio::test]
async fn put_with_other_uid_conflicts() {
    let world = World::new();
    let created = world.create_object("configmaps", "a", json!({})).await;
    let text = "Operation cannot be fulfilled on configmaps \"a\": StorageError: invalid object, Code: 4, \
                Key: /registry/configmaps/ns/a, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: \
                UID in precondition: other, UID in object meta: uid-1";
    let result = world.put("configmaps", with(created, "/metadata/uid", json!("other"))).await;
    assert_eq!(failure(result), expected_failure(409, Reason::Conflict, text));
}

#[tokio::test]
async fn empty_uid_means_the_stored_one() {
    let world = World::new();
    let created = world.create_object("configmaps", "a", json!({"data": {"k": "1"}})).await;
    for uid in [json!(""), Value::Null] {
        let updated = world.put("configmaps", with(created.clone(), "/metadata/uid", uid)).await.unwrap();
        assert_eq!(updated["metadata"]["uid"], created["metadata"]["uid"]);
    }
}

#[tokio::test]
async fn dry_run_errors_omit_the_store_prefix() {
    let world = World::new();
    world.create_object("configmaps", "a", json!({})).await;
    let request = UpdateRequest { uid: "other".to_owned(), dry_run: true, ..world.update("configmaps") };
    let target = target("configmaps", "a");
    let result =
        world.registry.update(&target, &request, &mut |_| Ok(named("configmaps", "a", json!({})))).await;
    assert!(failure(result).2.contains("Key: /configmaps/ns/a, "));
}

#[tokio::test]
async fn put_without_version_overwrites_if_allowed() {
    let check = async |plural: &str, expected: Option<(u16, Reason, String)>| {
        let world = World::new();
        let created = world.create_object(plural, "a", json!({})).await;
        let result = world.put(plural, without(created, "resourceVersion")).await;
        assert_eq!(result.is_err().then(|| failure(result)), expected, "{plural}");
    };
    check("configmaps", None).await;
    check("deployments", None).await;
    let text = "leases.coordination.k8s.io \"a\" is invalid: metadata.resourceVersion: Invalid value: 0: \
                must be specified for an update";
    check("leases", Some(expected_failure(422, Reason::Invalid, text))).await;
}

#[tokio::test]
async fn a_put_that_changes_nothing_is_not_written() {
    let world = World::new();
    for (endpoint, more) in [
        ("configmaps", json!({"data": {"k": "1"}})),
        ("namespaces", json!({})),
        ("deployments", json!({"spec": {"replicas": 2}})),
        ("deployments/status", json!({"spec": {"replicas": 2}})),
    ] {
        let name = endpoint.replace('/', "-");
        let created = world.create_object(endpoint.split('/').next().unwrap(), &name, more).await;
        let revision = world.revision().await;
        assert_eq!(world.put(endpoint, created.clone()).await.unwrap(), created, "{endpoint}");
        assert_eq!(world.revision().await, revision, "{endpoint}");
    }
}

#[tokio::test]
async fn endpoints_write_only_their_part() {
    let check = async |endpoint: &str, expected: (i64, i64, Value)| {
        let world = World::new();
        let mut created = world.create_object("deployments", "a", json!({"spec": {"replicas": 1}})).await;
        created["status"] = json!({"replicas": 5});
        created["spec"]["replicas"] = json!(2);
        created["metadata"]["labels"] = json!({"l": "1"});
        let updated = world.put(endpoint, created).await.unwrap();
        let status = updated["status"]["replicas"].as_i64().unwrap_or(0);
        let labels = updated["metadata"].get("labels").cloned().unwrap_or(Value::Null);
        assert_eq!((updated["spec"]["replicas"].as_i64().unwrap(), status, labels), expected, "{endpoint}");
    };
    check("deployments", (2, 0, json!({"l": "1"}))).await;
    check("deployments/status", (1, 5, Value::Null)).await;
}

#[tokio::test]
async fn generation_ignores_equivalent_changes() {
    let check = async |endpoint: &str, pointer: &str, value: Value, expected: i64| {
        let world = World::new();
        let more = json!({
            "metadata": {"labels": {"l": "1"}, "annotations": {"a": "1"}},
            "spec": {"replicas": 1, "paused": false},
        });
        let created = world.create_object("deployments", "a", more).await;
        let mut changed = created.clone();
        let (parent, name) = pointer.rsplit_once('/').unwrap();
        if changed.pointer(parent).is_none() {
            changed[parent.trim_start_matches('/')] = json!({});
        }
        changed.pointer_mut(parent).unwrap()[name] = value;
        let updated = world.put(endpoint, changed).await.unwrap();
        assert_eq!(updated["metadata"]["generation"], expected, "{endpoint} {pointer}");
    };
    check("deployments", "/spec/replicas", json!(2), 2).await;
    check("deployments", "/spec/replicas", json!(1), 1).await;
    // A zero value equals an absent one.
    check("deployments", "/spec/template/spec/hostNetwork", json!(false), 1).await;
    check("deployments", "/metadata/labels/l", json!("2"), 1).await;
    check("deployments", "/metadata/annotations/a", json!("2"), 2).await;
    check("deployments", "/metadata/generation", json!(77), 1).await;
    check("deployments/status", "/status/replicas", json!(2), 1).await;
}

#[tokio::test]
async fn put_cannot_change_identity() {
    let world = World::new();
    let created = world.create_object("configmaps", "a", json!({})).await;
    let changed = with(created.clone(), "/metadata/creationTimestamp", json!("2001-01-01T00:00:00Z"));
    let updated = world.put("configmaps", changed).await.unwrap();
    assert_eq!(updated["metadata"]["creationTimestamp"], created["metadata"]["creationTimestamp"]);
    let updated = world.put("configmaps", without(updated, "uid")).await.unwrap();
    assert_eq!(updated["metadata"]["uid"], created["metadata"]["uid"]);
}

#[tokio::test]
async fn put_creates_missing_object_if_allowed() {
    let check = async |plural: &str, expected: std::result::Result<bool, u16>| {
        let world = World::new();
        let object = named(plural, "a", json!({}));
        let outcome = world
            .registry
            .update(&target(plural, "a"), &world.update(plural), &mut |_| Ok(object.clone()))
            .await;
        let result = outcome.map(|outcome| outcome.created).map_err(|status| status.code);
        assert_eq!(result, expected, "{plural}");
        assert_eq!(world.get(plural, "a").await.is_ok(), expected.is_ok(), "{plural}");
    };
    check("leases", Ok(true)).await;
    check("endpoints", Ok(true)).await;
    check("clusterroles", Ok(true)).await;
    check("configmaps", Err(404)).await;
    check("deployments", Err(404)).await;
}

#[tokio::test]
async fn put_that_creates_wipes_system_fields() {
    let world = World::new();
    let mut object = named("endpoints", "a", json!({}));
    let time = "2001-01-01T00:00:00Z";
    let system = json!({"creationTimestamp": time, "deletionTimestamp": time, "deletionGracePeriodSeconds": 5,
                        "selfLink": "/x", "generation": 9});
    crate::meta::metadata_mut(&mut object).extend(system.as_object().unwrap().clone());
    let request = world.update("endpoints");
    let target = target("endpoints", "a");
    world.registry.update(&target, &request, &mut |_| Ok(object.clone())).await.unwrap();
    let metadata = world.get("endpoints", "a").await.unwrap()["metadata"].clone();
    let names = ["deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"];
    assert_eq!(names.map(|name| metadata.get(name)), [None; 3]);
    assert_ne!(metadata["creationTimestamp"], time);
    assert_eq!(metadata["generation"], 9);
}

#[tokio::test]
async fn apply_creates_missing_object() {
    let world = World::new();
    let object = named("configmaps", "a", json!({}));
    let request = UpdateRequest { force_allow_create: true, ..world.update("configmaps") };
    let outcome =
        world.registry.update(&target("configmaps", "a"), &request, &mut |_| Ok(object.clone())).await;
    assert!(outcome.unwrap().created);
}

#[tokio::test]
async fn dry_run_put_returns_old_version() {
    let world = World::new();
    let created = world.create_object("configmaps", "a", json!({"data": {"k": "1"}})).await;
    let changed = object(with(created.clone(), "/data/k", json!("2")));
    let request = UpdateRequest { dry_run: true, ..world.update("configmaps") };
    let outcome =
        world.registry.update(&target("configmaps", "a"), &request, &mut |_| Ok(changed.clone())).await;
    let response = decode("configmaps", outcome.unwrap().stored.as_ref());
    assert_eq!(response["data"]["k"], "2");
    assert_eq!(response["metadata"]["resourceVersion"], created["metadata"]["resourceVersion"]);
    assert_eq!(world.get("configmaps", "a").await.unwrap(), created);
}

#[tokio::test]
async fn losing_the_last_finalizer_ends_a_deletion() {
    let world = World::new();
    world.create_object("configmaps", "a", json!({"metadata": {"finalizers": ["x.y/z", "x.y/w"]}})).await;
    let marked = world.delete_and_get("configmaps", "a").await.unwrap();
    let partial =
        world.put("configmaps", with(marked, "/metadata/finalizers", json!(["x.y/w"]))).await.unwrap();
    assert!(world.get("configmaps", "a").await.is_ok());
    world.put("configmaps", with(partial, "/metadata/finalizers", json!([]))).await.unwrap();
    assert_eq!(failure(world.get("configmaps", "a").await).0, 404);
}

#[tokio::test]
async fn only_finalize_changes_the_finalizers_of_a_namespace() {
    let world = World::new();
    let created = world.create_object("namespaces", "a", json!({})).await;
    let emptied = with(created, "/spec/finalizers", json!([]));
    let updated = world.put("namespaces", emptied.clone()).await.unwrap();
    assert_eq!(updated["spec"]["finalizers"], json!(["kubernetes"]));
    let updated = world.put("namespaces/finalize", emptied).await.unwrap();
    assert!(updated["spec"].get("finalizers").is_none_or(|list| list == &json!([])));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_writers_lose_no_update() {
    let world = Arc::new(World::new());
    world.create_object("configmaps", "a", json!({"data": {"n": "0"}})).await;
    let writers: Vec<_> = (0..64)
        .map(|_| {
            let world = world.clone();
            tokio::spawn(async move {
                let mut change = |old: Option<&Object>| {
                    let mut new = Value::Object(old.unwrap().clone());
                    let n: u32 = new["data"]["n"].as_str().unwrap().parse().unwrap();
                    new["data"]["n"] = (n + 1).to_string().into();
                    Ok(object(new))
                };
                let target = target("configmaps", "a");
                let request = world.update("configmaps");
                world.registry.update(&target, &request, &mut change).await.unwrap().stored.revision
            })
        })
        .collect();
    let mut revisions = std::collections::BTreeSet::new();
    for writer in writers {
        revisions.insert(writer.await.unwrap());
    }
    assert_eq!(revisions.len(), 64, "each write has a revision of its own");
    assert_eq!(world.get("configmaps", "a").await.unwrap()["data"]["n"], "64");
}

#[tokio::test]
async fn put_does_not_recreate_deleted_object() {
    let put_deleted = async |plural: &str| {
        let object = named(plural, "zz", json!({"metadata": {"uid": "gone"}}));
        failure(World::new().put(plural, Value::Object(object)).await)
    };
    let (code, reason, text) = put_deleted("leases").await;
    assert_eq!((code, reason), (409, Reason::Conflict));
    assert!(text.ends_with("UID in precondition: gone, UID in object meta: "), "{text}");
    let (code, reason, _) = put_deleted("configmaps").await;
    assert_eq!((code, reason), (404, Reason::NotFound), "nobody creates those by PUT");
}

/// A request of a client for `CN=a`.
const CERTIFICATE_REQUEST: &str = "-----BEGIN CERTIFICATE REQUEST-----\n\
MIHGMG4CAQAwDDEKMAgGA1UEAwwBYTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IA\n\
BOskTz/b43amt8NYmSFQMM9EOiFbBLr38zuSNER82H/yESW27Y8kPelj52IgJlPi\n\
NQBdZ+XmopXV7fcOt0p7tsigADAKBggqhkjOPQQDAgNIADBFAiEAm5/vUitIYvsH\n\
lDFUzJ2oIVkeIJgwy4tH3sKWFux/hQwCIAxjS4OF17fRNJQnscnEwl+wxW+zgKgx\n\
MtkXUmPWrNiu\n\
-----END CERTIFICATE REQUEST-----\n\
";
/// A certificate that is valid for one day.
const CERTIFICATE: &str = "-----BEGIN CERTIFICATE-----\n\
MIIBbDCCAROgAwIBAgIUaaNoA/QxRijnYnPmuOcsxHOqG40wCgYIKoZIzj0EAwIw\n\
DDEKMAgGA1UEAwwBYTAeFw0yNjExMjkxMzE0MTNaFw0yNjExMzAxMzE0MTNaMAwx\n\
CjAIBgNVBAMMAWEwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAATrJE8/2+N2prfD\n\
WJkhUDDPRDohWwS69/M7kjREfNh/8hEltu2PJD3pY+diICZT4jUAXWfl5qKV1e33\n\
DrdKe7bIo1MwUTAdBgNVHQ4EFgQU1EjqU2+7cX7d1hAzK7W2bsMTZ8MwHwYDVR0j\n\
BBgwFoAU1EjqU2+7cX7d1hAzK7W2bsMTZ8MwDwYDVR0TAQH/BAUwAwEB/zAKBggq\n\
hkjOPQQDAgNHADBEAiBfwxAHiLloycFjAFtVddD2lDIn4oUAJVF+Fqy4akv/zQIg\n\
TcVRk00mznsbQhSaPAKebyKxzqmYen9FG9j3MS01ZqA=\n\
-----END CERTIFICATE-----\n\
";

#[tokio::test]
async fn issued_durations_are_counted_once() {
    let world = World::new();
    let metrics = MetricsRegistry::default();
    world.registry.register_metrics(&metrics);
    let counts = || {
        let count = |name: &str| {
            let series =
                format!("apiserver_certificates_registry_csr_{name}_duration_total{{signerName=\"other\"}} ");
            metrics.to_string().lines().find_map(|line| line.strip_prefix(&series).map(str::to_owned))
        };
        [count("requested"), count("honored")].map(|count| count.unwrap_or_default())
    };
    let plural = "certificatesigningrequests";
    for (name, seconds) in
        [("honored", json!(86_400)), ("shortened", json!(864_000)), ("unrequested", Value::Null)]
    {
        let spec = json!({
            "request": STANDARD.encode(CERTIFICATE_REQUEST), "signerName": "example.com/s",
            "usages": ["client auth"], "expirationSeconds": seconds,
        });
        let mut request = world.create_object(plural, name, json!({"spec": spec})).await;
        request["status"] = json!({"certificate": STANDARD.encode(CERTIFICATE)});
        let status = format!("{plural}/status");
        let issued = world.put(&status, request).await.unwrap();
        // Nothing is issued here.
        world.put(&status, issued).await.unwrap();
    }
    assert_eq!(counts(), ["2", "1"]);
}

#[tokio::test]
async fn dry_runs_do_not_count_durations() {
    let world = World::new();
    let metrics = MetricsRegistry::default();
    world.registry.register_metrics(&metrics);
    let plural = "certificatesigningrequests";
    let spec = json!({
        "request": STANDARD.encode(CERTIFICATE_REQUEST), "signerName": "example.com/s",
        "usages": ["client auth"], "expirationSeconds": 86_400,
    });
    let mut request = object(world.create_object(plural, "a", json!({"spec": spec})).await);
    request.insert("status", json!({"certificate": STANDARD.encode(CERTIFICATE)}));
    let dry = UpdateRequest { dry_run: true, ..world.update("certificatesigningrequests/status") };
    world.registry.update(&target(plural, "a"), &dry, &mut |_| Ok(request.clone())).await.unwrap();
    assert!(!metrics.to_string().contains("requested_duration_total{"));
}
