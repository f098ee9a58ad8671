//! Tests of admission during a write, and of allocations.

use std::collections::{BTreeSet, HashMap};

use super::super::{AdmissionEffects, Admit, Allocator, Claim};
use super::*;

/// Pool of numbers for config maps: one each, and a new one whenever `data.k` changes.
#[derive(Clone, Default)]
struct Pool(Arc<Mutex<BTreeSet<u64>>>);

struct Taken {
    pool: Pool,
    number: u64,
    before: Option<u64>,
}

fn number(object: &Object) -> Option<u64> {
    object.get("data")?.get("number")?.as_str()?.parse().ok()
}

impl Pool {
    fn held(&self) -> Vec<u64> {
        self.0.lock().unwrap().iter().copied().collect()
    }
}

#[async_trait]
impl Allocator for Pool {
    async fn allocate(
        &self,
        new: &mut Object,
        old: Option<&Object>,
        dry_run: bool,
    ) -> Result<Option<Box<dyn Claim>>> {
        if old.is_some_and(|old| old["data"]["k"] == new["data"]["k"]) || dry_run {
            return Ok(None);
        }
        let mut allocated = self.0.lock().unwrap();
        let number = (1..).find(|number| !allocated.contains(number)).unwrap();
        allocated.insert(number);
        new["data"]["number"] = number.to_string().into();
        let old_number = old.and_then(self::number);
        Ok(Some(Box::new(Taken { pool: self.clone(), number, before: old_number })))
    }

    async fn release(&self, object: &Object, dry_run: bool) {
        if let (Some(number), false) = (number(object), dry_run) {
            self.0.lock().unwrap().remove(&number);
        }
    }
}

#[async_trait]
impl Claim for Taken {
    async fn commit(self: Box<Self>) {
        if let Some(before) = self.before {
            self.pool.0.lock().unwrap().remove(&before);
        }
    }

    async fn revert(self: Box<Self>) {
        self.pool.0.lock().unwrap().remove(&self.number);
    }
}

fn world_with(pool: &Pool) -> World {
    let World { store, clock, script, registry, user } = World::new();
    let allocators = HashMap::from([("configmaps", Arc::new(pool.clone()) as Arc<dyn Allocator>)]);
    World { store, clock, script, registry: registry.with_allocators(allocators), user }
}

/// Admission that rejects objects with `data.refuse`, warns in both phases, and once changes the object
/// during an update.
struct Meddler<'w> {
    world: &'w World,
    seen: Mutex<Vec<String>>,
    warnings: Mutex<Vec<String>>,
}

#[async_trait]
impl Admit for Meddler<'_> {
    async fn mutate(&self, new: &mut Object, old: Option<&Object>) -> Result<AdmissionEffects> {
        self.warn("mutating".to_owned());
        new["data"]["mutated"] = "yes".into();
        let Some(old) = old else { return Ok(AdmissionEffects::default()) };
        let first = self.seen.lock().unwrap().is_empty();
        self.seen.lock().unwrap().push(crate::meta::text(old, "resourceVersion").to_owned());
        if first {
            let mut concurrent = old.clone();
            concurrent["data"]["other"] = "writer".into();
            self.world.put("configmaps", Value::Object(concurrent)).await?;
        }
        Ok(AdmissionEffects::default())
    }

    async fn validate(&self, new: &Object, _: Option<&Object>) -> Result<()> {
        self.warn("validating".to_owned());
        match new["data"].get("refuse") {
            Some(_) => Err(Status::unmapped("no").into()),
            None => Ok(()),
        }
    }

    async fn delete(&self, _: &Object, _: &DeleteOptions) -> Result<()> {
        Ok(())
    }

    fn warn(&self, text: String) {
        self.warnings.lock().unwrap().push(text);
    }
}

impl Meddler<'_> {
    fn of(world: &World) -> Meddler<'_> {
        Meddler { world, seen: Mutex::default(), warnings: Mutex::default() }
    }

    async fn set(&self, data: Value) -> Result<super::super::UpdateOutcome> {
        let request = UpdateRequest { admit: self, ..self.world.update("configmaps") };
        let mut change = |old: Option<&Object>| {
            let mut new = old.cloned().unwrap_or_default();
            new.insert("data".to_owned(), data.clone());
            Ok(new)
        };
        self.world.registry.update(&target("configmaps", "a"), &request, &mut change).await
    }
}

#[tokio::test]
async fn allocation_lasts_until_deletion() {
    let pool = Pool::default();
    let world = world_with(&pool);
    let created = world.create_object("configmaps", "a", json!({"data": {"k": "1"}})).await;
    assert_eq!((created["data"]["number"].as_str(), pool.held()), (Some("1"), vec![1]));
    world.create_object("configmaps", "b", json!({"data": {"k": "1"}})).await;
    assert!(world.delete_and_get("configmaps", "a").await.is_none());
    assert_eq!(pool.held(), [2]);
}

#[tokio::test]
async fn failed_create_releases_allocation() {
    let pool = Pool::default();
    let world = world_with(&pool);
    world.create_object("configmaps", "a", json!({"data": {"k": "1"}})).await;
    let again = named("configmaps", "a", json!({"data": {"k": "1"}}));
    assert_eq!(failure(world.post("configmaps", again, false).await).0, 409);
    let invalid = named("configmaps", "b", json!({"data": {"k": "1", "?": ""}}));
    assert_eq!(failure(world.post("configmaps", invalid, false).await).0, 422);
    assert_eq!(pool.held(), [1]);
}

#[tokio::test]
async fn only_last_update_attempt_allocates() {
    let pool = Pool::default();
    let world = world_with(&pool);
    world.create_object("configmaps", "a", json!({"data": {"k": "1"}})).await;
    let meddler = Meddler::of(&world);
    meddler.set(json!({"k": "2"})).await.unwrap();
    assert_eq!(meddler.seen.lock().unwrap().len(), 2);
    assert_eq!(pool.held(), [2], "and the one of before is free");
    let refused = meddler.set(json!({"k": "3", "refuse": ""})).await;
    assert!(refused.is_err());
    assert_eq!(pool.held(), [2]);
}

#[tokio::test]
async fn update_admission_gets_replaced_state() {
    let world = World::new();
    world.create_object("configmaps", "a", json!({"data": {"k": "1"}})).await;
    let meddler = Meddler::of(&world);
    meddler.set(json!({"k": "2"})).await.unwrap();
    let old_objects = meddler.seen.lock().unwrap().clone();
    assert_ne!(old_objects[0], old_objects[1]);
    assert_eq!(old_objects.len(), 2);
    assert_eq!(world.get("configmaps", "a").await.unwrap()["data"], json!({"k": "2", "mutated": "yes"}));
}

#[tokio::test]
async fn mutated_object_is_validated_and_created() {
    let world = World::new();
    let meddler = Meddler::of(&world);
    let request = CreateRequest { user: &world.user, dry_run: false, shares_labels: false, admit: &meddler };
    let object = named("configmaps", "a", json!({"data": {"k": "1"}}));
    let created = world.registry.create(&target("configmaps", ""), object, request).await.unwrap();
    assert_eq!(*meddler.warnings.lock().unwrap(), ["mutating", "validating"]);
    assert_eq!(decode("configmaps", created.as_ref())["data"]["mutated"], "yes");
    let refused = named("configmaps", "b", json!({"data": {"refuse": ""}}));
    assert!(world.registry.create(&target("configmaps", ""), refused, request).await.is_err());
    assert_eq!(failure(world.get("configmaps", "b").await).0, 404);
}

/// Admission with a given edit, which also reports if labels are still shared.
struct Editor {
    annotation: Option<&'static str>,
    shares_labels: Option<bool>,
    warnings: Mutex<Vec<String>>,
}

#[async_trait]
impl Admit for Editor {
    async fn mutate(&self, new: &mut Object, _: Option<&Object>) -> Result<AdmissionEffects> {
        if let Some(key) = self.annotation {
            new["metadata"]["annotations"] = json!({key: "runtime/default"});
        }
        Ok(AdmissionEffects { shares_labels: self.shares_labels })
    }

    async fn validate(&self, _: &Object, _: Option<&Object>) -> Result<()> {
        Ok(())
    }

    async fn delete(&self, _: &Object, _: &DeleteOptions) -> Result<()> {
        Ok(())
    }

    fn warn(&self, text: String) {
        self.warnings.lock().unwrap().push(text);
    }
}

impl Editor {
    async fn create(&self, plural: &str, object: Object, shares_labels: bool) -> Value {
        let world = World::new();
        let request = CreateRequest { user: &world.user, dry_run: false, shares_labels, admit: self };
        let created = world.registry.create(&target(plural, ""), object, request).await.unwrap();
        decode(plural, created.as_ref())
    }
}

#[tokio::test]
async fn warnings_cover_annotations_from_admission() {
    let key = "container.apparmor.security.beta.kubernetes.io/c";
    let editor = Editor { annotation: Some(key), shares_labels: None, warnings: Mutex::default() };
    let pod = named("pods", "a", json!({"spec": {"containers": [{"name": "c", "image": "i"}]}}));
    let created = editor.create("pods", pod, false).await;
    let profile = &created["spec"]["containers"][0]["securityContext"]["appArmorProfile"]["type"];
    assert_eq!(profile, "RuntimeDefault");
    let warning = format!(
        "metadata.annotations[{key}]: deprecated since v1.30; use the \"appArmorProfile\" field instead"
    );
    assert_eq!(*editor.warnings.lock().unwrap(), [warning]);
}

/// Moves every object to another namespace.
struct Mover;

#[async_trait]
impl Admit for Mover {
    async fn mutate(&self, new: &mut Object, _: Option<&Object>) -> Result<AdmissionEffects> {
        new["metadata"]["namespace"] = "other".into();
        Ok(AdmissionEffects::default())
    }

    async fn validate(&self, _: &Object, _: Option<&Object>) -> Result<()> {
        Ok(())
    }

    async fn delete(&self, _: &Object, _: &DeleteOptions) -> Result<()> {
        Ok(())
    }

    fn warn(&self, _: String) {}
}

#[tokio::test]
async fn admission_cannot_move_an_object() {
    let world = World::new();
    let text = "the namespace of the provided object does not match the namespace sent on the request";
    let rejected = expected_failure(400, Reason::BadRequest, text);
    let object = || named("configmaps", "a", json!({}));
    let request = CreateRequest { user: &world.user, dry_run: false, shares_labels: false, admit: &Mover };
    let created = world.registry.create(&target("configmaps", ""), object(), request).await;
    assert_eq!(failure(created), rejected);
    world.create_object("configmaps", "a", json!({})).await;
    let request = UpdateRequest { admit: &Mover, ..world.update("configmaps") };
    let target = target("configmaps", "a");
    let updated = world.registry.update(&target, &request, &mut |_| Ok(object())).await;
    assert_eq!(failure(updated), rejected);
}

#[tokio::test]
async fn job_mutation_decides_label_sharing() {
    let check = async |sent, edited, shares| {
        let editor = Editor { annotation: None, shares_labels: edited, warnings: Mutex::default() };
        let template = json!({
            "metadata": {"labels": {"a": "b"}},
            "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]},
        });
        let job = named("jobs", "a", json!({"spec": {"template": template}}));
        let created = editor.create("jobs", job, sent).await;
        let labels = created["metadata"]["labels"].get("job-name");
        assert_eq!(labels.is_some(), shares, "{sent} {edited:?} {created}");
    };
    check(true, None, true).await;
    check(true, Some(false), false).await;
    check(false, Some(true), true).await;
    check(false, None, false).await;
}
