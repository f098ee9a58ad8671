//! Tests of admission during deletions: calls, their objects, and rejections.

use api::options::{ListOptions, Preconditions};

use super::super::{AdmissionEffects, Admit};
use super::*;

/// Admission that records its calls, rejects objects with `refuse` in their data, and once changes an object
/// with `meddle` during its deletion.
struct Record<'w> {
    world: &'w World,
    asked: Mutex<Vec<Asked>>,
}

/// Recorded admission of a deletion.
struct Asked {
    old: Value,
    options: DeleteOptions,
}

#[async_trait]
impl Admit for Record<'_> {
    async fn mutate(&self, _: &mut Object, _: Option<&Object>) -> Result<AdmissionEffects> {
        Ok(AdmissionEffects::default())
    }

    async fn validate(&self, _: &Object, _: Option<&Object>) -> Result<()> {
        Ok(())
    }

    async fn delete(&self, old: &Object, options: &DeleteOptions) -> Result<()> {
        let mut value = Value::Object(old.clone());
        self.asked.lock().unwrap().push(Asked { old: value.clone(), options: options.clone() });
        let says = |word: &str| old.get("data").is_some_and(|data| data.get(word).is_some());
        if says("meddle") {
            value["data"] = json!({"other": "writer"});
            self.world.put("configmaps", value).await?;
        }
        if says("refuse") { Err(Status::unmapped("no").into()) } else { Ok(()) }
    }

    fn warn(&self, _: String) {}
}

impl Record<'_> {
    fn of(world: &World) -> Record<'_> {
        Record { world, asked: Mutex::default() }
    }

    async fn delete(&self, plural: &str, name: &str, options: &DeleteOptions) -> Result<DeleteOutcome> {
        let request = DeleteRequest { options, dry_run: !options.dry_run.is_empty(), admit: self };
        self.world.registry.delete(&target(plural, name), &request).await
    }

    /// One metadata field of each object since the last call.
    fn seen(&self, member: &str) -> Vec<Value> {
        let asked = std::mem::take(&mut *self.asked.lock().unwrap());
        asked.into_iter().map(|asked| asked.old["metadata"][member].clone()).collect()
    }

    /// Recorded options since the last call.
    fn told(&self) -> Vec<DeleteOptions> {
        let asked = std::mem::take(&mut *self.asked.lock().unwrap());
        asked.into_iter().map(|asked| asked.options).collect()
    }
}

fn grace(seconds: i64) -> DeleteOptions {
    DeleteOptions { grace_period_seconds: Some(seconds), ..DeleteOptions::default() }
}

const SCHEDULED: &str = r#"{"spec": {"nodeName": "n", "terminationGracePeriodSeconds": 20}}"#;

async fn scheduled() -> World {
    let world = World::new();
    world.given("pods", "p", serde_json::from_str(SCHEDULED).unwrap()).await;
    world
}

#[tokio::test]
async fn admission_gets_existing_object() {
    let world = World::new();
    let made = world.given("configmaps", "a", json!({"data": {"k": "v"}})).await;
    let record = Record::of(&world);
    record.delete("configmaps", "a", &DeleteOptions::default()).await.unwrap();
    assert_eq!(record.asked.lock().unwrap().iter().map(|asked| &asked.old).collect::<Vec<_>>(), [&made]);
    assert_eq!(failure(world.get("configmaps", "a").await).0, 404);
}

#[tokio::test]
async fn rejected_deletion_changes_nothing() {
    let world = World::new();
    for (name, finalizers) in [("a", json!([])), ("b", json!(["x.y/z"]))] {
        let more = json!({"metadata": {"finalizers": finalizers}, "data": {"refuse": ""}});
        let made = world.given("configmaps", name, more).await;
        let refused = Record::of(&world).delete("configmaps", name, &DeleteOptions::default()).await;
        assert_eq!(failure(refused).2, "no");
        assert_eq!(world.get("configmaps", name).await.unwrap(), made);
    }
}

#[tokio::test]
async fn missing_object_or_wrong_uid_skips_admission() {
    let world = World::new();
    world.given("configmaps", "a", json!({"data": {"refuse": ""}})).await;
    let preconditions = Preconditions { uid: Some("other".to_owned()), resource_version: None };
    let options = DeleteOptions { preconditions: Some(preconditions), ..DeleteOptions::default() };
    let record = Record::of(&world);
    assert_eq!(failure(record.delete("configmaps", "a", &options).await).0, 409);
    assert_eq!(failure(record.delete("configmaps", "b", &options).await).0, 404);
    assert!(record.seen("name").is_empty());
}

#[tokio::test]
async fn newer_state_is_admitted_again() {
    let world = World::new();
    world.given("configmaps", "a", json!({"data": {"meddle": ""}})).await;
    let record = Record::of(&world);
    record.delete("configmaps", "a", &DeleteOptions::default()).await.unwrap();
    let seen = record.seen("resourceVersion");
    assert_eq!(seen.len(), 2);
    assert_ne!(seen[0], seen[1]);
}

#[tokio::test]
async fn marked_and_removed_pod_is_admitted_twice() {
    let world = scheduled().await;
    let record = Record::of(&world);
    let dry = DeleteOptions { dry_run: vec!["All".to_owned()], ..grace(0) };
    record.delete("pods", "p", &dry).await.unwrap();
    assert_eq!(record.seen("deletionGracePeriodSeconds"), [Value::Null], "nothing is marked");
    let before = world.revision().await;
    record.delete("pods", "p", &grace(0)).await.unwrap();
    let asked = record.asked.lock().unwrap();
    let version = |at: usize| asked[at].old["metadata"]["resourceVersion"].as_str().map(str::to_owned);
    assert_eq!(asked.len(), 2);
    assert_eq!(asked[0].old["metadata"]["deletionTimestamp"], Value::Null);
    assert_eq!(asked[1].old["metadata"]["deletionGracePeriodSeconds"], 0);
    assert_eq!([version(0), version(1)], [Some(before.to_string()), Some((before + 1).to_string())]);
}

#[tokio::test]
async fn only_shortening_deletion_is_admitted() {
    let world = scheduled().await;
    let record = Record::of(&world);
    let check = async |options: DeleteOptions, expected: usize| {
        record.delete("pods", "p", &options).await.unwrap();
        assert_eq!(record.seen("name").len(), expected, "{options:?}");
    };
    check(DeleteOptions::default(), 1).await;
    check(DeleteOptions::default(), 0).await;
    check(grace(30), 0).await;
    check(grace(5), 1).await;
}

#[tokio::test]
async fn namespace_is_admitted_at_first_deletion() {
    let world = World::new();
    let made = world.given("namespaces", "a", json!({})).await;
    let record = Record::of(&world);
    record.delete("namespaces", "a", &DeleteOptions::default()).await.unwrap();
    let told = record.told();
    let uid = told[0].preconditions.as_ref().and_then(|preconditions| preconditions.uid.clone());
    assert_eq!((told.len(), uid.as_deref()), (1, made["metadata"]["uid"].as_str()));
    record.delete("namespaces", "a", &DeleteOptions::default()).await.unwrap();
    assert!(record.seen("name").is_empty());
}

#[tokio::test]
async fn admission_gets_default_grace_except_for_collections() {
    let world = scheduled().await;
    let record = Record::of(&world);
    let dry = |seconds| DeleteOptions {
        dry_run: vec!["All".to_owned()],
        grace_period_seconds: seconds,
        ..DeleteOptions::default()
    };
    for (sent, told) in [(None, Some(20)), (Some(7), Some(7)), (Some(-3), Some(1))] {
        record.delete("pods", "p", &dry(sent)).await.unwrap();
        assert_eq!(record.told(), [dry(told)]);
    }
    let options = dry(None);
    let request = DeleteRequest { options: &options, dry_run: true, admit: &record };
    let list = ListOptions::default();
    world.registry.delete_collection(&target("pods", ""), &list, &request).await.unwrap();
    assert_eq!(record.told(), [dry(None)]);
}

#[tokio::test]
async fn collection_stops_at_first_rejection() {
    let world = World::new();
    for (name, data) in [("a", json!({})), ("b", json!({"refuse": ""})), ("c", json!({}))] {
        world.given("configmaps", name, json!({ "data": data })).await;
    }
    let record = Record::of(&world);
    let options = DeleteOptions::default();
    let request = DeleteRequest { options: &options, dry_run: false, admit: &record };
    let list = ListOptions::default();
    let refused = world.registry.delete_collection(&target("configmaps", ""), &list, &request).await;
    assert_eq!(failure(refused).2, "no");
    assert_eq!(record.seen("name"), ["a", "b"]);
    assert_eq!(failure(world.get("configmaps", "a").await).0, 404);
    assert!(world.get("configmaps", "b").await.is_ok() && world.get("configmaps", "c").await.is_ok());
}

#[tokio::test]
async fn removing_last_finalizer_is_admitted_as_update() {
    let world = World::new();
    let more = json!({"metadata": {"finalizers": ["x.y/z"]}, "data": {"refuse": ""}});
    world.given("configmaps", "a", more).await;
    world.delete("configmaps", "a", &DeleteOptions::default()).await.unwrap();
    let record = Record::of(&world);
    let request = UpdateRequest { admit: &record, ..world.update("configmaps") };
    let mut change = |old: Option<&Object>| {
        let mut new = old.cloned().unwrap_or_default();
        crate::meta::set_finalizers(&mut new, Vec::new());
        Ok(new)
    };
    world.registry.update(&target("configmaps", "a"), &request, &mut change).await.unwrap();
    assert!(record.seen("name").is_empty());
    assert_eq!(failure(world.get("configmaps", "a").await).0, 404);
}
