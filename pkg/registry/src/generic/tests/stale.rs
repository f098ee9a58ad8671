//! Tests of writes that start from the cached state. They save a read, and an outdated cache neither loses an
//! update nor causes a wrong response.

use api::options::{ListOptions, Preconditions};
use storage::fault::{FaultyStorage, Operation, Plan};

use super::*;

/// Registry with a cache that was frozen at an earlier state.
pub(super) struct Frozen {
    /// Writes to the same store without the cache.
    outside: World,
    /// World with the frozen cache.
    pub(super) world: World,
    faulty: Arc<FaultyStorage<Memory>>,
}

impl Frozen {
    pub(super) async fn after(outside: World) -> Self {
        let faulty = Arc::new(FaultyStorage::new(outside.store.clone(), Plan::none()));
        let resources = crate::ingest::resources("/registry", Gates::default(), |row| row.plural != "events");
        let options = cacher::Options::default();
        let (delegator, driver) = Delegator::new(faulty.clone(), "/registry", resources, options);
        // A cache whose driver is not polled keeps its state.
        tokio::select! {
            () = driver.run() => panic!("the store is not shut down"),
            () = delegator.ready() => {}
        }
        let world = World::with(outside.store.clone(), delegator);
        Frozen { outside, world, faulty }
    }

    /// Number of reads, writes and removals of single keys so far.
    fn calls(&self) -> [u64; 3] {
        [Operation::Get, Operation::Put, Operation::Delete].map(|operation| self.faulty.calls(operation))
    }

    /// Sets an entry of the config map like a merge patch.
    async fn patch(&self, name: &str, datum: &str) -> Result<Value> {
        self.update(name, "", &mut |old| {
            let Some(old) = old else { return Err(missing(name)) };
            Ok(object(with_datum(Value::Object(old.clone()), datum)))
        })
        .await
    }

    async fn update(&self, name: &str, uid: &str, change: &mut super::super::Change<'_>) -> Result<Value> {
        let request = UpdateRequest { uid: uid.to_owned(), ..self.world.update("configmaps") };
        let outcome = self.world.registry.update(&target("configmaps", name), &request, change).await?;
        Ok(decode("configmaps", outcome.stored.as_ref()))
    }

    /// Stored object, read without the cache.
    async fn stored(&self) -> Option<Value> {
        self.outside.get("configmaps", "a").await.ok()
    }
}

fn missing(name: &str) -> Box<Status> {
    Status::not_found(&target("configmaps", name).group_resource(), name).into()
}

fn with_datum(mut object: Value, datum: &str) -> Value {
    object["data"][datum] = "yes".into();
    object
}

/// Result for a config map: its data, or the code of the error.
fn summary(result: Result<Value>) -> String {
    match result {
        Ok(object) => {
            let data = object["data"].as_object().into_iter().flatten();
            data.map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(" ")
        }
        Err(status) => format!("{} {}", status.code, status.reason),
    }
}

/// Caches a config map `a` with the entry `old`. Then runs `meanwhile` without the cache and `act` with it.
/// `act` must return `answer`, leave `left`, and cost this many reads, writes and removals.
async fn check(
    case: &str,
    meanwhile: impl AsyncFn(&World, Value),
    act: impl AsyncFn(&Frozen, Value) -> Result<Value>,
    expected_result: &str,
    expected_state: &str,
    calls: [u64; 3],
) {
    let outside = World::new();
    let created = outside.create_object("configmaps", "a", json!({"data": {"old": "yes"}})).await;
    let frozen = Frozen::after(outside).await;
    meanwhile(&frozen.outside, created.clone()).await;
    let result = act(&frozen, created).await;
    assert_eq!(summary(result), expected_result, "{case}: the answer");
    let stored = frozen.stored().await;
    assert_eq!(
        stored.map_or("nothing".to_owned(), |object| summary(Ok(object))),
        expected_state,
        "{case}: what is left"
    );
    assert_eq!(frozen.calls(), calls, "{case}: reads, writes, removals");
}

async fn no_change(_: &World, _: Value) {}

async fn changed(outside: &World, created: Value) {
    outside.put("configmaps", with_datum(created, "theirs")).await.unwrap();
}

async fn deleted(outside: &World, _: Value) {
    outside.delete("configmaps", "a", &DeleteOptions::default()).await.unwrap();
}

async fn replaced(outside: &World, _: Value) {
    deleted(outside, Value::Null).await;
    outside.create_object("configmaps", "a", json!({"data": {"theirs": "yes"}})).await;
}

#[tokio::test]
async fn patch_costs_one_write_without_lost_updates() {
    let patch = async |frozen: &Frozen, _| frozen.patch("a", "ours").await;
    let merged = "old ours theirs";
    check("nobody else", no_change, patch, "old ours", "old ours", [0, 1, 0]).await;
    check("changed", changed, patch, merged, merged, [0, 2, 0]).await;
    check("deleted", deleted, patch, "404 NotFound", "nothing", [0, 1, 0]).await;
    check("replaced", replaced, patch, "ours theirs", "ours theirs", [0, 2, 0]).await;
}

#[tokio::test]
async fn object_missing_from_cache_is_read() {
    let created = async |outside: &World, _| drop(outside.create_object("configmaps", "b", json!({})).await);
    let patch = async |frozen: &Frozen, _| frozen.patch("b", "ours").await;
    check("created", created, patch, "ours", "old", [1, 1, 0]).await;
    check("never there", no_change, patch, "404 NotFound", "old", [1, 0, 0]).await;
}

#[tokio::test]
async fn no_op_is_verified_against_store() {
    let put_unchanged = async |frozen: &Frozen, created: Value| {
        let mut replacement = object(created);
        replacement["metadata"].as_object_mut().unwrap().remove("resourceVersion");
        frozen.update("a", "", &mut |_| Ok(replacement.clone())).await
    };
    check("nobody else", no_change, put_unchanged, "old", "old", [1, 0, 0]).await;
    check("changed", changed, put_unchanged, "old", "old", [1, 1, 0]).await;
}

#[tokio::test]
async fn put_is_checked_against_stored_version() {
    let of_cached = async |frozen: &Frozen, created: Value| {
        let replacement = object(with_datum(created, "ours"));
        frozen.update("a", "", &mut |_| Ok(replacement.clone())).await
    };
    let of_stored = async |frozen: &Frozen, _| {
        let replacement = object(with_datum(frozen.stored().await.unwrap(), "ours"));
        let uid = crate::meta::text(&replacement, "uid").to_owned();
        frozen.update("a", &uid, &mut |_| Ok(replacement.clone())).await
    };
    let merged = "old ours theirs";
    check("current", no_change, of_cached, "old ours", "old ours", [0, 1, 0]).await;
    check("too old", changed, of_cached, "409 Conflict", "old theirs", [0, 1, 0]).await;
    check("newer than the cache", changed, of_stored, merged, merged, [1, 1, 0]).await;
    check("another uid than the cache", replaced, of_stored, "ours theirs", "ours theirs", [1, 1, 0]).await;
}

#[tokio::test]
async fn rejection_is_verified_against_store() {
    let wants_theirs = async |frozen: &Frozen, _| {
        let mut change = |old: Option<&Object>| {
            let old = Value::Object(old.unwrap().clone());
            match old["data"].get("theirs") {
                Some(_) => Ok(object(with_datum(old, "ours"))),
                None => Err(Status::bad_request("theirs is missing").into()),
            }
        };
        frozen.update("a", "", &mut change).await
    };
    check("true", no_change, wants_theirs, "400 BadRequest", "old", [1, 0, 0]).await;
    check("not any more", changed, wants_theirs, "old ours theirs", "old ours theirs", [1, 1, 0]).await;
}

#[tokio::test]
async fn dry_run_patch_uses_stored_state() {
    let dry = async |frozen: &Frozen, _| {
        let request = UpdateRequest { dry_run: true, ..frozen.world.update("configmaps") };
        let mut change =
            |old: Option<&Object>| Ok(object(with_datum(Value::Object(old.unwrap().clone()), "ours")));
        let target = target("configmaps", "a");
        let outcome = frozen.world.registry.update(&target, &request, &mut change).await?;
        Ok(decode("configmaps", outcome.stored.as_ref()))
    };
    // The write of a dry run is a read.
    check("nobody else", no_change, dry, "old ours", "old", [1, 0, 0]).await;
    check("changed", changed, dry, "old ours theirs", "old theirs", [2, 0, 0]).await;
}

#[tokio::test]
async fn deletion_costs_one_removal() {
    let delete = async |frozen: &Frozen, preconditions: Option<Preconditions>| {
        let options = DeleteOptions { preconditions, ..DeleteOptions::default() };
        frozen.world.delete("configmaps", "a", &options).await.map(|_| Value::Null)
    };
    let any = async |frozen: &Frozen, _| delete(frozen, None).await;
    let text = |object: &Value, member: &str| object["metadata"][member].as_str().map(str::to_owned);
    let delete_exact = async |frozen: &Frozen, expected: Value| {
        let resource_version = text(&expected, "resourceVersion");
        delete(frozen, Some(Preconditions { uid: text(&expected, "uid"), resource_version })).await
    };
    let stored = async |frozen: &Frozen, _| delete_exact(frozen, frozen.stored().await.unwrap()).await;
    let add_finalizer = async |outside: &World, mut created: Value| {
        created["metadata"]["finalizers"] = json!(["x.y/z"]);
        outside.put("configmaps", created).await.unwrap();
    };
    check("nobody else", no_change, any, "", "nothing", [0, 0, 1]).await;
    check("changed", changed, any, "", "nothing", [0, 0, 2]).await;
    check("deleted", deleted, any, "404 NotFound", "nothing", [0, 0, 1]).await;
    check("a finalizer was added", add_finalizer, any, "", "old", [0, 1, 1]).await;
    check("the one meant", no_change, delete_exact, "", "nothing", [0, 0, 1]).await;
    check("changed, so not the one meant", changed, delete_exact, "409 Conflict", "old theirs", [0, 0, 1])
        .await;
    check("newer than the cache", changed, stored, "", "nothing", [1, 0, 1]).await;
    check("another than in the cache", replaced, stored, "", "nothing", [1, 0, 1]).await;
}

#[tokio::test]
async fn collection_is_deleted_without_extra_reads() {
    let outside = World::new();
    for name in ["a", "b", "c"] {
        outside.create_object("configmaps", name, json!({})).await;
    }
    let frozen = Frozen::after(outside).await;
    let options = DeleteOptions::default();
    let request = DeleteRequest { options: &options, dry_run: false, admit: &AdmitAll };
    let list = ListOptions { resource_version: "0".to_owned(), ..ListOptions::default() };
    let target = target("configmaps", "");
    let page = frozen.world.registry.delete_collection(&target, &list, &request).await.unwrap();
    assert_eq!((page.items.iter().count(), frozen.calls()), (3, [0, 0, 3]));
    assert_eq!(frozen.stored().await, None);
}

#[tokio::test]
async fn uncached_object_is_read_before_write() {
    let outside = World::new();
    let created = outside.create_object("events", "a", json!({"reason": "old"})).await;
    let frozen = Frozen::after(outside).await;
    let mut changed = created;
    changed["reason"] = "new".into();
    frozen.world.put("events", changed).await.unwrap();
    assert_eq!(frozen.calls(), [1, 1, 0]);
    frozen.world.delete("events", "a", &DeleteOptions::default()).await.unwrap();
    assert_eq!(frozen.calls(), [2, 1, 1]);
}

#[tokio::test]
async fn second_deletion_with_finalizers_writes_nothing() {
    let world = World::new();
    world.create_object("configmaps", "a", json!({"metadata": {"finalizers": ["x.y/z"]}})).await;
    let marked = world.delete_and_get("configmaps", "a").await.unwrap();
    let revision = world.revision().await;
    assert_eq!(world.delete_and_get("configmaps", "a").await.unwrap(), marked);
    assert_eq!(world.revision().await, revision);
}
