//! Hostile values in the store, beside good objects of every built-in resource. They never block the resource:
//! the others are readable, and each value can be deleted.

use api::options::ListOptions;
use api::resources::StorageSpec;
use bytes::Bytes;
use cacher::{EventType, Options};
use component_base::features::Gate;
use futures::StreamExt;
use tokio::time::Instant;

use super::*;
use crate::generic::WatchEvent;

/// Number of mutations of a good value per resource.
const MUTATIONS: usize = 24;

/// Deterministic random numbers (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % limit as u64) as usize
    }
}

/// A stored resource.
#[derive(Clone, Copy)]
struct Stored {
    row: &'static Resource<'static>,
    storage: &'static StorageSpec<'static>,
}

impl Stored {
    fn namespace(&self) -> &'static str {
        if self.row.namespaced { NAMESPACE } else { "" }
    }

    fn target<'n>(&self, name: &'n str) -> Target<'n> {
        Target { resource: self.row, namespace: self.namespace(), name }
    }

    fn key(&self, name: &str) -> String {
        let slash = if self.row.namespaced { "/" } else { "" };
        format!("/registry/{}/{}{slash}{name}", self.storage.prefix, self.namespace())
    }

    /// Bytes of a valid object.
    fn value(&self, name: &str) -> Bytes {
        let mut object = object(json!({
            "apiVersion": self.storage.group_version, "kind": self.storage.kind,
            "metadata": {"name": name, "namespace": self.namespace(), "uid": name},
        }));
        kinds::defaults::apply(self.storage.group_version, self.storage.kind, &mut object, &Gates::default());
        codec::encode(self.storage, &object).unwrap()
    }

    /// Values that upstream or another program may have stored.
    fn hostile_values(&self, random: &mut Random) -> Vec<Bytes> {
        let StorageSpec { group_version, kind, .. } = self.storage;
        let json = |rest: &str| {
            format!(r#"{{"apiVersion":"{group_version}","kind":"{kind}","metadata":{{"name":"bad"}}{rest}}}"#)
        };
        let deep = |levels: usize| format!("{}1{}", r#"{"a":"#.repeat(levels), "}".repeat(levels));
        let mut values: Vec<Bytes> = vec![
            Bytes::new(),
            "k8s\0".into(),
            "k8s\0nonsense".into(),
            "k8s:enc:aescbc:v1:key:secret".into(),
            "{".into(),
            "[]".into(),
            "null".into(),
            "\"text\"".into(),
            Bytes::from_static(b"\xd9\xd9\xf7\xa1"),
            Bytes::from_static(b"\xff\xfe\0\0"),
            r#"{"apiVersion":"apps/v9","kind":"Unknown","metadata":{"name":"bad"}}"#.into(),
            json(r#","metadata":5"#).into(),
            json(&format!(r#","spec":{}"#, deep(500))).into(),
            json(&format!(r#","spec":{}"#, deep(20_000))).into(),
            json(&format!(r#","metadata":{}"#, deep(500))).into(),
            Bytes::from(r#"{"a":"#.repeat(100_000)),
            self.value("another-name"),
        ];
        let good = self.value("bad");
        for _ in 0..MUTATIONS {
            let mut value = good.to_vec();
            let at = random.below(value.len());
            match random.below(3) {
                0 => value.truncate(at),
                1 => value[at] ^= 1 << random.below(8),
                _ => value.splice(at..at, good.iter().copied().take(random.below(40))).for_each(drop),
            }
            values.push(value.into());
        }
        values
    }
}

fn every_stored() -> impl Iterator<Item = Stored> {
    crate::ingest::stored_rows().map(|(row, storage)| Stored { row, storage })
}

async fn store(world: &World, key: &str, value: Bytes) {
    let revision = world.store.get(key).await.unwrap().kv.map_or(0, |kv| kv.mod_revision);
    world.store.put(key, value, revision, None).await.unwrap();
}

/// Checks all reads of the good objects `a` and `c` beside `bad`.
async fn good_objects_are_readable(world: &World, stored: Stored, case: &str) {
    for version in ["", "0"] {
        let options = ListOptions { resource_version: version.to_owned(), ..ListOptions::default() };
        let page = world.registry.list(&stored.target(""), &options).await;
        let page = page.unwrap_or_else(|status| panic!("{case}: {}", status.message));
        let names: Vec<String> = page.items.iter().map(|item| item.name().to_owned()).collect();
        assert!(["a", "c"].iter().all(|name| names.iter().any(|listed| listed == name)), "{case}: {names:?}");
        assert_eq!(names.len() + page.left_out, 3, "{case}");
        world.registry.get(&stored.target("a"), version).await.unwrap();
        // The bad one may be readable.
        let _ = world.registry.get(&stored.target("bad"), version).await;
    }
}

/// Checks that a watch delivers the good objects and goes on after the bad one is written again.
async fn watch_goes_on(world: &World, stored: Stored, bad: Bytes, case: &str) {
    let later = Instant::now() + Duration::from_secs(3600);
    let mut events = world.registry.watch(&stored.target(""), &ListOptions::default(), later).await.unwrap();
    store(world, &stored.key("bad"), bad).await;
    store(world, &stored.key("c"), stored.value("c")).await;
    let mut names = Vec::new();
    while names.iter().filter(|name| *name == "c").count() < 2 {
        match events.next().await {
            Some(WatchEvent::Event(event)) if event.kind != EventType::Bookmark => {
                names.extend(event.element.map(|element| element.name().to_owned()));
            }
            Some(WatchEvent::Event(_)) => {}
            Some(WatchEvent::Error(status)) => panic!("{case}: {}", status.message),
            None => panic!("{case}: the watch ended"),
        }
    }
    assert!(names.iter().any(|name| name == "a"), "{case}: {names:?}");
}

/// Deletes the good objects, then the bad one, unread if necessary.
async fn everything_can_be_deleted(world: &World, stored: Stored, case: &str) {
    let options = DeleteOptions { grace_period_seconds: Some(0), ..DeleteOptions::default() };
    let request = DeleteRequest { options: &options, dry_run: false, admit: &AdmitAll };
    let deleted = world.registry.delete(&stored.target("a"), &request).await;
    deleted.unwrap_or_else(|status| panic!("{case}: {}", status.message));
    let bad = stored.target("bad");
    if world.registry.delete(&bad, &request).await.is_err() {
        world
            .registry
            .delete_corrupt(&bad, false)
            .await
            .unwrap_or_else(|status| panic!("{case}: {}", status.message));
    }
    let deleted =
        world.registry.delete_collection(&stored.target(""), &ListOptions::default(), &request).await;
    deleted.unwrap_or_else(|status| panic!("{case}: {}", status.message));
}

#[tokio::test(start_paused = true)]
async fn hostile_values_block_no_resource() {
    let gates = Gates::default().with(Gate::AllowUnsafeMalformedObjectDeletion, true);
    for cached in [false, true] {
        let memory = Arc::new(Memory::new());
        let resources = crate::ingest::resources("/registry", gates, |_| true);
        let options = Options { enabled: cached, ..Options::default() };
        let (delegator, driver) = Delegator::new(memory.clone(), "/registry", resources, options);
        let driver = tokio::spawn(driver.run());
        delegator.ready().await;
        let world = World::with(memory, delegator);
        let settings = Settings { gates, ..Settings::default() };
        let world = World { registry: world.registry.clone().with_settings(settings), ..world };
        let mut random = Random(1);
        for stored in every_stored() {
            for (number, bad) in stored.hostile_values(&mut random).into_iter().enumerate() {
                let case = format!("{} {number} cached={cached}", stored.storage.prefix);
                for name in ["a", "c"] {
                    store(&world, &stored.key(name), stored.value(name)).await;
                }
                store(&world, &stored.key("bad"), bad.clone()).await;
                good_objects_are_readable(&world, stored, &case).await;
                watch_goes_on(&world, stored, bad, &case).await;
                everything_can_be_deleted(&world, stored, &case).await;
            }
        }
        driver.abort();
    }
}
