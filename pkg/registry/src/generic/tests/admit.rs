//! Claims about admission's part in a write, and about pools that objects take from.

use std::collections::{BTreeSet, HashMap};

use super::super::{Admit, Allocator, Claim, Edits};
use super::*;

/// A pool of numbers that config maps take from: one each, a new one whenever `data.k` changes.
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
        let mut held = self.0.lock().unwrap();
        let number = (1..).find(|number| !held.contains(number)).unwrap();
        held.insert(number);
        new["data"]["number"] = number.to_string().into();
        let before = old.and_then(self::number);
        Ok(Some(Box::new(Taken { pool: self.clone(), number, before })))
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

/// Refuses what says so in `data.refuse`, warns in both phases, and changes the object behind the back of
/// whoever updates it, once.
struct Meddler<'w> {
    world: &'w World,
    seen: Mutex<Vec<String>>,
    said: Mutex<Vec<String>>,
}

#[async_trait]
impl Admit for Meddler<'_> {
    async fn mutate(&self, new: &mut Object, old: Option<&Object>) -> Result<Edits> {
        self.warn("mutating".to_owned());
        new["data"]["mutated"] = "yes".into();
        let Some(old) = old else { return Ok(Edits::default()) };
        let first = self.seen.lock().unwrap().is_empty();
        self.seen.lock().unwrap().push(crate::meta::text(old, "resourceVersion").to_owned());
        if first {
            let mut other = old.clone();
            other["data"]["other"] = "writer".into();
            self.world.put("configmaps", Value::Object(other)).await?;
        }
        Ok(Edits::default())
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
        self.said.lock().unwrap().push(text);
    }
}

impl Meddler<'_> {
    fn of(world: &World) -> Meddler<'_> {
        Meddler { world, seen: Mutex::default(), said: Mutex::default() }
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
async fn an_object_keeps_what_it_took_until_it_is_gone() {
    let pool = Pool::default();
    let world = world_with(&pool);
    let made = world.given("configmaps", "a", json!({"data": {"k": "1"}})).await;
    assert_eq!((made["data"]["number"].as_str(), pool.held()), (Some("1"), vec![1]));
    world.given("configmaps", "b", json!({"data": {"k": "1"}})).await;
    assert!(world.delete_and_get("configmaps", "a").await.is_none());
    assert_eq!(pool.held(), [2]);
}

#[tokio::test]
async fn a_creation_that_fails_gives_back_what_it_took() {
    let pool = Pool::default();
    let world = world_with(&pool);
    world.given("configmaps", "a", json!({"data": {"k": "1"}})).await;
    let again = named("configmaps", "a", json!({"data": {"k": "1"}}));
    assert_eq!(failure(world.post("configmaps", again, false).await).0, 409);
    let invalid = named("configmaps", "b", json!({"data": {"k": "1", "?": ""}}));
    assert_eq!(failure(world.post("configmaps", invalid, false).await).0, 422);
    assert_eq!(pool.held(), [1]);
}

#[tokio::test]
async fn of_the_attempts_at_an_update_only_the_last_one_takes() {
    let pool = Pool::default();
    let world = world_with(&pool);
    world.given("configmaps", "a", json!({"data": {"k": "1"}})).await;
    let meddler = Meddler::of(&world);
    meddler.set(json!({"k": "2"})).await.unwrap();
    assert_eq!(meddler.seen.lock().unwrap().len(), 2);
    assert_eq!(pool.held(), [2], "and the one of before is free");
    let refused = meddler.set(json!({"k": "3", "refuse": ""})).await;
    assert!(refused.is_err());
    assert_eq!(pool.held(), [2]);
}

#[tokio::test]
async fn an_update_asks_admission_about_the_state_that_it_replaces() {
    let world = World::new();
    world.given("configmaps", "a", json!({"data": {"k": "1"}})).await;
    let meddler = Meddler::of(&world);
    meddler.set(json!({"k": "2"})).await.unwrap();
    let seen = meddler.seen.lock().unwrap().clone();
    assert_ne!(seen[0], seen[1]);
    assert_eq!(seen.len(), 2);
    assert_eq!(world.get("configmaps", "a").await.unwrap()["data"], json!({"k": "2", "mutated": "yes"}));
}

#[tokio::test]
async fn what_admission_makes_of_an_object_is_what_is_validated_and_created() {
    let world = World::new();
    let meddler = Meddler::of(&world);
    let request = CreateRequest { user: &world.user, dry_run: false, shares_labels: false, admit: &meddler };
    let object = named("configmaps", "a", json!({"data": {"k": "1"}}));
    let created = world.registry.create(&target("configmaps", ""), object, request).await.unwrap();
    assert_eq!(*meddler.said.lock().unwrap(), ["mutating", "validating"]);
    assert_eq!(decode("configmaps", created.as_ref())["data"]["mutated"], "yes");
    let refused = named("configmaps", "b", json!({"data": {"refuse": ""}}));
    assert!(world.registry.create(&target("configmaps", ""), refused, request).await.is_err());
    assert_eq!(failure(world.get("configmaps", "b").await).0, 404);
}

/// Edits what it is told to edit, and says whether labels are shared after that.
struct Editor {
    annotation: Option<&'static str>,
    shares_labels: Option<bool>,
    said: Mutex<Vec<String>>,
}

#[async_trait]
impl Admit for Editor {
    async fn mutate(&self, new: &mut Object, _: Option<&Object>) -> Result<Edits> {
        if let Some(key) = self.annotation {
            new["metadata"]["annotations"] = json!({key: "runtime/default"});
        }
        Ok(Edits { shares_labels: self.shares_labels })
    }

    async fn validate(&self, _: &Object, _: Option<&Object>) -> Result<()> {
        Ok(())
    }

    async fn delete(&self, _: &Object, _: &DeleteOptions) -> Result<()> {
        Ok(())
    }

    fn warn(&self, text: String) {
        self.said.lock().unwrap().push(text);
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
async fn what_admission_annotates_a_new_pod_with_is_warned_of() {
    let key = "container.apparmor.security.beta.kubernetes.io/c";
    let editor = Editor { annotation: Some(key), shares_labels: None, said: Mutex::default() };
    let pod = named("pods", "a", json!({"spec": {"containers": [{"name": "c", "image": "i"}]}}));
    let created = editor.create("pods", pod, false).await;
    let profile = &created["spec"]["containers"][0]["securityContext"]["appArmorProfile"]["type"];
    assert_eq!(profile, "RuntimeDefault");
    let warning = format!(
        "metadata.annotations[{key}]: deprecated since v1.30; use the \"appArmorProfile\" field instead"
    );
    assert_eq!(*editor.said.lock().unwrap(), [warning]);
}

#[tokio::test]
async fn who_edits_a_job_decides_whether_it_shares_its_labels() {
    let check = async |sent, edited, shares| {
        let editor = Editor { annotation: None, shares_labels: edited, said: Mutex::default() };
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
