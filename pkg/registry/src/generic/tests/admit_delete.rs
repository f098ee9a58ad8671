//! Tests of admission during deletions: calls, their objects, and rejections.

use api::options::{ListOptions, Preconditions};

use super::super::{AdmissionEffects, Admit};
use super::*;

/// Admission that records its calls, rejects objects with `refuse` in their data, and once changes an object
/// with `meddle` during its deletion.
struct Record<'w> {
    world: &'w World,
    deletions: Mutex<Vec<AdmittedDeletion>>,
}

/// Recorded admission of a deletion.
struct AdmittedDeletion {
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
        self.deletions
            .lock()
            .unwrap()
            .push(AdmittedDeletion { old: value.clone(), options: options.clone() });
        let has_datum = |word: &str| old.get("data").is_some_and(|data| data.get(word).is_some());
        if has_datum("meddle") {
            value["data"] = json!({"other": "writer"});
            self.world.put("configmaps", value).await?;
        }
        if has_datum("refuse") { Err(Status::unmapped("no").into()) } else { Ok(()) }
    }

    fn warn(&self, _: String) {}
}

impl Record<'_> {
    fn of(world: &World) -> Record<'_> {
        Record { world, deletions: Mutex::default() }
    }

    async fn delete(&self, plural: &str, name: &str, options: &DeleteOptions) -> Result<DeleteOutcome> {
        let request = DeleteRequest { options, dry_run: !options.dry_run.is_empty(), admit: self };
        self.world.registry.delete(&target(plural, name), &request).await
    }

    /// One metadata field of each object since the last call.
    fn metadata_values(&self, member: &str) -> Vec<Value> {
        let deletions = std::mem::take(&mut *self.deletions.lock().unwrap());
        deletions.into_iter().map(|deletion| deletion.old["metadata"][member].clone()).collect()
    }

    /// Recorded options since the last call.
    fn options(&self) -> Vec<DeleteOptions> {
        let deletions = std::mem::take(&mut *self.deletions.lock().unwrap());
        deletions.into_iter().map(|deletion| deletion.options).collect()
    }
}

fn grace(seconds: i64) -> DeleteOptions {
    DeleteOptions { grace_period_seconds: Some(seconds), ..DeleteOptions::default() }
}

const SCHEDULED: &str = r#"{"spec": {"nodeName": "n", "terminationGracePeriodSeconds": 20}}"#;

async fn scheduled() -> World {
    let world = World::new();
    world.create_object("pods", "p", serde_json::from_str(SCHEDULED).unwrap()).await;
    world
}

#[tokio::test]
async fn admission_gets_existing_object() {
    let world = World::new();
    let created = world.create_object("configmaps", "a", json!({"data": {"k": "v"}})).await;
    let record = Record::of(&world);
    record.delete("configmaps", "a", &DeleteOptions::default()).await.unwrap();
    assert_eq!(
        record.deletions.lock().unwrap().iter().map(|deletion| &deletion.old).collect::<Vec<_>>(),
        [&created]
    );
    assert_eq!(failure(world.get("configmaps", "a").await).0, 404);
}

#[tokio::test]
async fn rejected_deletion_changes_nothing() {
    let world = World::new();
    for (name, finalizers) in [("a", json!([])), ("b", json!(["x.y/z"]))] {
        let more = json!({"metadata": {"finalizers": finalizers}, "data": {"refuse": ""}});
        let created = world.create_object("configmaps", name, more).await;
        let refused = Record::of(&world).delete("configmaps", name, &DeleteOptions::default()).await;
        assert_eq!(failure(refused).2, "no");
        assert_eq!(world.get("configmaps", name).await.unwrap(), created);
    }
}

#[tokio::test]
async fn missing_object_or_wrong_uid_skips_admission() {
    let world = World::new();
    world.create_object("configmaps", "a", json!({"data": {"refuse": ""}})).await;
    let preconditions = Preconditions { uid: Some("other".to_owned()), resource_version: None };
    let options = DeleteOptions { preconditions: Some(preconditions), ..DeleteOptions::default() };
    let record = Record::of(&world);
    assert_eq!(failure(record.delete("configmaps", "a", &options).await).0, 409);
    assert_eq!(failure(record.delete("configmaps", "b", &options).await).0, 404);
    assert!(record.metadata_values("name").is_empty());
}

#[tokio::test]
async fn newer_state_is_admitted_again() {
    let world = World::new();
    world.create_object("configmaps", "a", json!({"data": {"meddle": ""}})).await;
    let record = Record::of(&world);
    record.delete("configmaps", "a", &DeleteOptions::default()).await.unwrap();
    let versions = record.metadata_values("resourceVersion");
    assert_eq!(versions.len(), 2);
    assert_ne!(versions[0], versions[1]);
}

#[tokio::test]
async fn marked_and_removed_pod_is_admitted_twice() {
    let world = scheduled().await;
    let record = Record::of(&world);
    let dry = DeleteOptions { dry_run: vec!["All".to_owned()], ..grace(0) };
    record.delete("pods", "p", &dry).await.unwrap();
    assert_eq!(record.metadata_values("deletionGracePeriodSeconds"), [Value::Null], "nothing is marked");
    let initial_revision = world.revision().await;
    record.delete("pods", "p", &grace(0)).await.unwrap();
    let deletions = record.deletions.lock().unwrap();
    let version = |at: usize| deletions[at].old["metadata"]["resourceVersion"].as_str().map(str::to_owned);
    assert_eq!(deletions.len(), 2);
    assert_eq!(deletions[0].old["metadata"]["deletionTimestamp"], Value::Null);
    assert_eq!(deletions[1].old["metadata"]["deletionGracePeriodSeconds"], 0);
    assert_eq!(
        [version(0), version(1)],
        [Some(initial_revision.to_string()), Some((initial_revision + 1).to_string())]
    );
}

#[tokio::test]
async fn only_shortening_deletion_is_admitted() {
    let world = scheduled().await;
    let record = Record::of(&world);
    let check = async |options: DeleteOptions, expected: usize| {
        record.delete("pods", "p", &options).await.unwrap();
        assert_eq!(record.metadata_values("name").len(), expected, "{options:?}");
    };
    check(DeleteOptions::default(), 1).await;
    check(DeleteOptions::default(), 0).await;
    check(grace(30), 0).await;
    check(grace(5), 1).await;
}

#[tokio::test]
async fn namespace_is_admitted_at_first_deletion() {
    let world = World::new();
    let created = world.create_object("namespaces", "a", json!({})).await;
    let record = Record::of(&world);
    record.delete("namespaces", "a", &DeleteOptions::default()).await.unwrap();
    let options = record.options();
    let uid = options[0].preconditions.as_ref().and_then(|preconditions| preconditions.uid.clone());
    assert_eq!((options.len(), uid.as_deref()), (1, created["metadata"]["uid"].as_str()));
    record.delete("namespaces", "a", &DeleteOptions::default()).await.unwrap();
    assert!(record.metadata_values("name").is_empty());
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
    for (sent, expected) in [(None, Some(20)), (Some(7), Some(7)), (Some(-3), Some(1))] {
        record.delete("pods", "p", &dry(sent)).await.unwrap();
        assert_eq!(record.options(), [dry(expected)]);
    }
    let options = dry(None);
    let request = DeleteRequest { options: &options, dry_run: true, admit: &record };
    let list = ListOptions::default();
    world.registry.delete_collection(&target("pods", ""), &list, &request).await.unwrap();
    assert_eq!(record.options(), [dry(None)]);
}

#[tokio::test]
async fn collection_stops_at_first_rejection() {
    let world = World::new();
    for (name, data) in [("a", json!({})), ("b", json!({"refuse": ""})), ("c", json!({}))] {
        world.create_object("configmaps", name, json!({ "data": data })).await;
    }
    let record = Record::of(&world);
    let options = DeleteOptions::default();
    let request = DeleteRequest { options: &options, dry_run: false, admit: &record };
    let list = ListOptions::default();
    let refused = world.registry.delete_collection(&target("configmaps", ""), &list, &request).await;
    assert_eq!(failure(refused).2, "no");
    assert_eq!(record.metadata_values("name"), ["a", "b"]);
    assert_eq!(failure(world.get("configmaps", "a").await).0, 404);
    assert!(world.get("configmaps", "b").await.is_ok() && world.get("configmaps", "c").await.is_ok());
}

#[tokio::test]
async fn removing_last_finalizer_is_admitted_as_update() {
    let world = World::new();
    let more = json!({"metadata": {"finalizers": ["x.y/z"]}, "data": {"refuse": ""}});
    world.create_object("configmaps", "a", more).await;
    world.delete("configmaps", "a", &DeleteOptions::default()).await.unwrap();
    let record = Record::of(&world);
    let request = UpdateRequest { admit: &record, ..world.update("configmaps") };
    let mut change = |old: Option<&Object>| {
        let mut new = old.cloned().unwrap_or_default();
        crate::meta::set_finalizers(&mut new, Vec::new());
        Ok(new)
    };
    world.registry.update(&target("configmaps", "a"), &request, &mut change).await.unwrap();
    assert!(record.metadata_values("name").is_empty());
    assert_eq!(failure(world.get("configmaps", "a").await).0, 404);
}
