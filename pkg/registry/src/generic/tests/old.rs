//! Tests of objects from older servers. Readers see newer defaults, through the cache and past it, and the
//! stored object is unchanged until the next write.

use api::options::{ListOptions, MATCH_EXACT};
use bytes::Bytes;
use cacher::{Driver, Element};
use futures::StreamExt;
use kinds::printers::{Printer, Subject};
use schema::proto::Envelope;
use schema::transcode;
use tokio::time::Instant;

use super::*;
use crate::generic::WatchEvent;

/// Objects from before some defaults existed, with the path and value of an expected default.
const OLD: [(&str, &str, &str); 5] = [
    ("deployments", "/spec/progressDeadlineSeconds", "600"),
    ("services", "/spec/internalTrafficPolicy", "\"Cluster\""),
    ("pods", "/spec/enableServiceLinks", "true"),
    (
        "persistentvolumeclaims",
        "/spec/dataSourceRef",
        r#"{"apiGroup":"snapshot.storage.k8s.io","kind":"VolumeSnapshot","name":"s"}"#,
    ),
    ("customresourcedefinitions", "/spec/conversion", r#"{"strategy":"None"}"#),
];

/// Bytes of an object that lacks one default.
fn old(plural: &str, name: &str, pointer: &str) -> Bytes {
    let (parent, default) = pointer.rsplit_once('/').unwrap();
    let mut complete = Value::Object(named(plural, name, json!({"metadata": {"uid": "u"}})));
    complete.pointer_mut(parent).unwrap().as_object_mut().unwrap().remove(default).unwrap();
    codec::encode(row(plural).storage.as_ref().unwrap(), &object(complete)).unwrap()
}

fn key(plural: &str, name: &str) -> String {
    let row = row(plural);
    let namespace = if row.namespaced { "ns/" } else { "" };
    format!("/registry/{}/{namespace}{name}", row.storage.unwrap().prefix)
}

/// Value at a path for readers of an element: as JSON made from its bytes, and as protobuf.
fn shown(plural: &str, element: &Element, pointer: &str) -> [String; 2] {
    let storage = row(plural).storage.unwrap();
    let value = element.value().unwrap();
    let mut json = value.to_vec();
    if Envelope::recognizes(value) {
        json.clear();
        let raw = Envelope::parse(value).unwrap().raw;
        transcode::to_json(storage.message, raw, None, None, &mut json).unwrap();
    }
    let json: Value = serde_json::from_slice(&json).unwrap();
    let tree = decode(plural, StoredRef::element(element));
    [json, tree].map(|value| value.pointer(pointer).unwrap_or(&Value::Null).to_string())
}

/// Registry with a cache of the store, and the cache's driver.
fn cached(store: Arc<Memory>) -> (World, Driver) {
    let resources = crate::ingest::resources("/registry", Gates::default(), |row| row.plural != "events");
    let (delegator, driver) =
        Delegator::new(store.clone(), "/registry", resources, cacher::Options::default());
    (World::with(store, delegator), driver)
}

async fn put(store: &Memory, plural: &str, name: &str, pointer: &str) {
    store.put(&key(plural, name), old(plural, name, pointer), 0, None).await.unwrap();
}

/// Reads all old objects in every possible way.
async fn every_read_shows_defaults(world: &World) {
    for (plural, pointer, default) in OLD {
        put(&world.store, plural, "a", pointer).await;
        let stored = world.store.get(&key(plural, "a")).await.unwrap().kv.unwrap();
        let check = |element: &Element, how: &str| {
            assert_eq!(shown(plural, element, pointer), [default; 2], "{plural} {how}");
            assert_eq!(element.revision(), stored.mod_revision, "{plural} {how}");
        };
        for version in ["", "0", &stored.mod_revision.to_string()] {
            let element = world.registry.get(&target(plural, "a"), version).await;
            check(&element.unwrap(), &format!("read at {version:?}"));
        }
        let lists = [
            ListOptions::default(),
            ListOptions {
                resource_version: stored.mod_revision.to_string(),
                resource_version_match: MATCH_EXACT.to_owned(),
                ..ListOptions::default()
            },
        ];
        for options in lists {
            let page = world.registry.list(&target(plural, ""), &options).await.unwrap();
            assert_eq!(page.items.iter().count(), 1);
            page.items.iter().for_each(|item| check(&item, "listed"));
        }
        let later = Instant::now() + Duration::from_secs(3600);
        let watch = world.registry.watch(&target(plural, ""), &ListOptions::default(), later).await;
        let mut events = watch.unwrap();
        let mut next = async || match events.next().await.unwrap() {
            WatchEvent::Event(event) => event.element.unwrap(),
            WatchEvent::Error(status) => panic!("{}", status.message),
        };
        check(&*next().await, "at the start of a watch");
        put(&world.store, plural, "b", pointer).await;
        assert_eq!(shown(plural, &*next().await, pointer), [default; 2], "{plural} while watched");
        let now = world.store.get(&key(plural, "a")).await.unwrap().kv.unwrap();
        assert_eq!((now.value, now.mod_revision), (stored.value, stored.mod_revision), "{plural}: as it was");
    }
}

#[tokio::test]
async fn every_read_past_the_cache_shows_defaults() {
    every_read_shows_defaults(&World::new()).await;
}

#[tokio::test]
async fn every_read_through_the_cache_shows_defaults() {
    let (world, driver) = cached(Arc::new(Memory::new()));
    let reads = async {
        world.registry.delegator.ready().await;
        every_read_shows_defaults(&world).await;
    };
    tokio::select! {
        () = driver.run() => panic!("the store is not shut down"),
        () = reads => {}
    }
}

#[tokio::test]
async fn a_table_shows_defaults() {
    let world = World::new();
    put(&world.store, "services", "a", "/spec/type").await;
    let element = world.registry.get(&target("services", "a"), "").await.unwrap();
    let raw = Envelope::parse(element.value().unwrap()).unwrap().raw;
    let subject = Subject::message(row("services").storage.unwrap().message, raw);
    let mut cells = Vec::new();
    for cell in Printer::of(row("services")).row(&subject, UnixTime::from_seconds(NOW)).unwrap().cells {
        cell.write(&mut cells);
        cells.push(b' ');
    }
    assert!(cells.starts_with(b"\"a\" \"ClusterIP\" "), "{}", String::from_utf8_lossy(&cells));
}

/// As upstream: the stored object differs from the result of an empty update.
#[tokio::test]
async fn an_update_without_changes_stores_the_defaults() {
    // CRDs are excluded, because this one fails the validation of an update.
    for (plural, pointer, default) in OLD.into_iter().filter(|(plural, ..)| !plural.starts_with("custom")) {
        let store = Arc::new(Memory::new());
        put(&store, plural, "a", pointer).await;
        let old_revision = store.get(&key(plural, "a")).await.unwrap().kv.unwrap().mod_revision;
        let (world, driver) = cached(store);
        let update = async {
            world.registry.delegator.ready().await;
            let request = world.update(plural);
            let target = target(plural, "a");
            let identity = &mut |old: Option<&Object>| Ok(old.unwrap().clone());
            let first = world.registry.update(&target, &request, identity).await.unwrap().stored.revision;
            let second = world.registry.update(&target, &request, identity).await.unwrap().stored.revision;
            (first, second)
        };
        let (first, second) = tokio::select! {
            () = driver.run() => panic!("the store is not shut down"),
            revisions = update => revisions,
        };
        assert!(first > old_revision && second == first, "{plural}: {old_revision}, {first}, {second}");
        let kv = world.store.get(&key(plural, "a")).await.unwrap().kv.unwrap();
        let object = decode(plural, StoredRef::of(&kv));
        assert_eq!(object.pointer(pointer).unwrap().to_string(), default, "{plural}");
    }
}

/// v1.37 no longer has `scheduling.k8s.io/v1alpha2`, in which v1.36 stored PodGroups.
#[tokio::test]
async fn object_of_removed_version_is_listed_and_deleted() {
    let old_version = "scheduling.k8s.io/v1alpha2";
    let message = schema::builtin::kind(old_version, "PodGroup").unwrap();
    let group = json!({
        "metadata": {"name": "a", "namespace": NAMESPACE, "uid": "u"},
        "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}, "disruptionMode": "PodGroup"},
    });
    let mut raw = Vec::new();
    schema::proto::encode(message, &object(group), &mut raw).unwrap();
    let mut value = Vec::new();
    schema::proto::wrap(old_version, "PodGroup", &raw, &mut value);
    let (world, driver) = cached(Arc::new(Memory::new()));
    let key = format!("/registry/podgroups/{NAMESPACE}/a");
    world.store.put(&key, Bytes::from(value), 0, None).await.unwrap();
    let resource = api::resources::find("scheduling.k8s.io", "v1beta1", "podgroups", "").unwrap();
    let group = Target { resource, namespace: NAMESPACE, name: "a" };
    let reads = async {
        world.registry.delegator.ready().await;
        let all = Target { name: "", ..group };
        let page = world.registry.list(&all, &ListOptions::default()).await.unwrap();
        let element = page.items.iter().next().unwrap();
        let stored = resource.storage.as_ref().unwrap();
        let listed = Value::from(codec::decode(stored, StoredRef::element(&element)).unwrap());
        assert_eq!(listed["spec"]["disruptionMode"], json!({"all": {}}));
        let options = DeleteOptions::default();
        let request = DeleteRequest { options: &options, dry_run: false, admit: &AdmitAll };
        world.registry.delete(&group, &request).await.unwrap();
        assert!(world.store.get(&key).await.unwrap().kv.is_none());
    };
    tokio::select! {
        () = driver.run() => panic!("the store is not shut down"),
        () = reads => {}
    }
}
