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
fn told(result: Result<Value>) -> String {
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
    answer: &str,
    left: &str,
    calls: [u64; 3],
) {
    let outside = World::new();
    let made = outside.given("configmaps", "a", json!({"data": {"old": "yes"}})).await;
    let frozen = Frozen::after(outside).await;
    meanwhile(&frozen.outside, made.clone()).await;
    let result = act(&frozen, made).await;
    assert_eq!(told(result), answer, "{case}: the answer");
    let stored = frozen.stored().await;
    assert_eq!(stored.map_or("nothing".to_owned(), |object| told(Ok(object))), left, "{case}: what is left");
    assert_eq!(frozen.calls(), calls, "{case}: reads, writes, removals");
}

async fn nothing(_: &World, _: Value) {}

async fn changed(outside: &World, made: Value) {
    outside.put("configmaps", with_datum(made, "theirs")).await.unwrap();
}

async fn deleted(outside: &World, _: Value) {
    outside.delete("configmaps", "a", &DeleteOptions::default()).await.unwrap();
}

async fn replaced(outside: &World, _: Value) {
    deleted(outside, Value::Null).await;
    outside.given("configmaps", "a", json!({"data": {"theirs": "yes"}})).await;
}

#[tokio::test]
async fn patch_costs_one_write_without_lost_updates() {
    let ours = async |frozen: &Frozen, _| frozen.patch("a", "ours").await;
    let both = "old ours theirs";
    check("nobody else", nothing, ours, "old ours", "old ours", [0, 1, 0]).await;
    check("changed", changed, ours, both, both, [0, 2, 0]).await;
    check("deleted", deleted, ours, "404 NotFound", "nothing", [0, 1, 0]).await;
    check("replaced", replaced, ours, "ours theirs", "ours theirs", [0, 2, 0]).await;
}

#[tokio::test]
async fn object_missing_from_cache_is_read() {
    let created = async |outside: &World, _| drop(outside.given("configmaps", "b", json!({})).await);
    let ours = async |frozen: &Frozen, _| frozen.patch("b", "ours").await;
    check("created", created, ours, "ours", "old", [1, 1, 0]).await;
    check("never there", nothing, ours, "404 NotFound", "old", [1, 0, 0]).await;
}

#[tokio::test]
async fn no_op_is_verified_against_store() {
    let same = async |frozen: &Frozen, made: Value| {
        let mut whole = object(made);
        whole["metadata"].as_object_mut().unwrap().remove("resourceVersion");
        frozen.update("a", "", &mut |_| Ok(whole.clone())).await
    };
    check("nobody else", nothing, same, "old", "old", [1, 0, 0]).await;
    check("changed", changed, same, "old", "old", [1, 1, 0]).await;
}

#[tokio::test]
async fn put_is_checked_against_stored_version() {
    let of_cached = async |frozen: &Frozen, made: Value| {
        let whole = object(with_datum(made, "ours"));
        frozen.update("a", "", &mut |_| Ok(whole.clone())).await
    };
    let of_stored = async |frozen: &Frozen, _| {
        let whole = object(with_datum(frozen.stored().await.unwrap(), "ours"));
        let uid = crate::meta::text(&whole, "uid").to_owned();
        frozen.update("a", &uid, &mut |_| Ok(whole.clone())).await
    };
    let both = "old ours theirs";
    check("current", nothing, of_cached, "old ours", "old ours", [0, 1, 0]).await;
    check("too old", changed, of_cached, "409 Conflict", "old theirs", [0, 1, 0]).await;
    check("newer than the cache", changed, of_stored, both, both, [1, 1, 0]).await;
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
    check("true", nothing, wants_theirs, "400 BadRequest", "old", [1, 0, 0]).await;
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
    check("nobody else", nothing, dry, "old ours", "old", [1, 0, 0]).await;
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
    let this = async |frozen: &Frozen, made: Value| {
        let resource_version = text(&made, "resourceVersion");
        delete(frozen, Some(Preconditions { uid: text(&made, "uid"), resource_version })).await
    };
    let stored = async |frozen: &Frozen, _| this(frozen, frozen.stored().await.unwrap()).await;
    let held = async |outside: &World, mut made: Value| {
        made["metadata"]["finalizers"] = json!(["x.y/z"]);
        outside.put("configmaps", made).await.unwrap();
    };
    check("nobody else", nothing, any, "", "nothing", [0, 0, 1]).await;
    check("changed", changed, any, "", "nothing", [0, 0, 2]).await;
    check("deleted", deleted, any, "404 NotFound", "nothing", [0, 0, 1]).await;
    check("a finalizer was added", held, any, "", "old", [0, 1, 1]).await;
    check("the one meant", nothing, this, "", "nothing", [0, 0, 1]).await;
    check("changed, so not the one meant", changed, this, "409 Conflict", "old theirs", [0, 0, 1]).await;
    check("newer than the cache", changed, stored, "", "nothing", [1, 0, 1]).await;
    check("another than in the cache", replaced, stored, "", "nothing", [1, 0, 1]).await;
}

#[tokio::test]
async fn collection_is_deleted_without_extra_reads() {
    let outside = World::new();
    for name in ["a", "b", "c"] {
        outside.given("configmaps", name, json!({})).await;
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
    let made = outside.given("events", "a", json!({"reason": "old"})).await;
    let frozen = Frozen::after(outside).await;
    let mut changed = made;
    changed["reason"] = "new".into();
    frozen.world.put("events", changed).await.unwrap();
    assert_eq!(frozen.calls(), [1, 1, 0]);
    frozen.world.delete("events", "a", &DeleteOptions::default()).await.unwrap();
    assert_eq!(frozen.calls(), [2, 1, 1]);
}

#[tokio::test]
async fn second_deletion_with_finalizers_writes_nothing() {
    let world = World::new();
    world.given("configmaps", "a", json!({"metadata": {"finalizers": ["x.y/z"]}})).await;
    let marked = world.delete_and_get("configmaps", "a").await.unwrap();
    let before = world.revision().await;
    assert_eq!(world.delete_and_get("configmaps", "a").await.unwrap(), marked);
    assert_eq!(world.revision().await, before);
}
