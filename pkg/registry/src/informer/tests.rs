//! Tests of views and of their updates.
#![allow(clippy::unwrap_used, clippy::panic)]

mod on_demand;

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use api::options::Preconditions;
use api::resources;
use jsontree::json;
use schema::object;
use storage::Storage;
use storage::fault::{Fault, Operation};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::*;
use crate::testing::{Cluster, config_map, object};

const SLOW: Duration = Duration::from_secs(1);

/// Entry of each object, by resource and name. Panics for the entry `mad`.
#[derive(Default)]
struct Data {
    data: BTreeMap<String, String>,
    /// Number of clones of this view and its ancestors.
    copies: Arc<AtomicU32>,
}

impl Clone for Data {
    fn clone(&self) -> Self {
        self.copies.fetch_add(1, Relaxed);
        Data { data: self.data.clone(), copies: Arc::clone(&self.copies) }
    }
}

impl Projection for Data {
    fn apply(&mut self, change: &ObjectChange) {
        let name = format!("{}/{}", change.row().plural, change.name());
        let Some(object) = change.object() else {
            self.data.remove(&name);
            return;
        };
        assert_eq!((change.namespace(), change.bytes().is_some()), ("ns", true));
        let datum = object::get_str(object, &["data", "datum"]).unwrap_or("");
        // Readers must not see the result of a panic.
        self.data.insert(name, "half".to_owned());
        assert_ne!(datum, "mad");
        self.data.insert(format!("{}/{}", change.row().plural, change.name()), datum.to_owned());
    }
}

/// View that is kept up to date while this lives.
struct Followed {
    follower: Informer<Data>,
    task: JoinHandle<()>,
}

impl Followed {
    fn new(cluster: &Cluster, plurals: &[&str]) -> Self {
        let row = |plural: &&str| Handle::from(resources::find("", "v1", plural, "").unwrap());
        let (follower, following) =
            Informer::new(&cluster.registry, "test", plurals.iter().map(row).collect());
        Followed { follower, task: tokio::spawn(following.run()) }
    }

    async fn ready(cluster: &Cluster) -> Self {
        let followed = Followed::new(cluster, &["configmaps"]);
        followed.follower.ready().await;
        followed
    }

    /// Waits until the view contains exactly these objects.
    async fn shows(&self, expected: &[(&str, &str)]) {
        let is_expected =
            |view: &Data| view.data.iter().map(|(k, v)| (&**k, &**v)).eq(expected.iter().copied());
        let result = timeout(60 * SLOW, self.follower.wait_for(is_expected)).await;
        result.unwrap_or_else(|_| panic!("{:?} instead of {expected:?}", self.follower.snapshot().data));
    }
}

impl Drop for Followed {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn set(cluster: &Cluster, name: &str, datum: &str) {
    let client = cluster.client("configmaps");
    client.reconcile("ns", name, &|_| Some(config_map(name, datum))).await.unwrap();
}

async fn delete(cluster: &Cluster, name: &str) {
    assert!(cluster.client("configmaps").delete("ns", name, Preconditions::default()).await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn view_has_initial_state_then_changes() {
    for cached in [true, false] {
        let cluster = Cluster::empty(cached).await;
        set(&cluster, "a", "1").await;
        set(&cluster, "b", "1").await;
        let followed = Followed::ready(&cluster).await;
        let expected = [("configmaps/a", "1"), ("configmaps/b", "1")];
        assert!(followed.follower.read(|view| view.data.iter().map(|(k, v)| (&**k, &**v)).eq(expected)));
        set(&cluster, "b", "2").await;
        followed.shows(&[("configmaps/a", "1"), ("configmaps/b", "2")]).await;
        delete(&cluster, "a").await;
        followed.shows(&[("configmaps/b", "2")]).await;
        set(&cluster, "c", "1").await;
        followed.shows(&[("configmaps/b", "2"), ("configmaps/c", "1")]).await;
    }
}

#[tokio::test(start_paused = true)]
async fn view_is_ready_after_all_resources() {
    let memory = Arc::default();
    let earlier = Cluster::new(Arc::clone(&memory), false, []);
    set(&earlier, "a", "1").await;
    let secret = object(json!({"metadata": {"name": "s", "namespace": "ns"}, "type": "Opaque"}));
    earlier.client("secrets").create(secret).await.unwrap();
    // In order of prefixes, secrets are the last that the cache lists.
    for (cached, nth) in [(true, 2), (false, 1)] {
        let slow = (Operation::List, nth, Fault::Delay(SLOW));
        let cluster = Cluster::new(Arc::clone(&memory), cached, [slow]);
        let followed = Followed::new(&cluster, &["configmaps", "secrets"]);
        tokio::time::sleep(SLOW / 2).await;
        assert!(!followed.follower.is_ready());
        assert!(followed.follower.read(|view| view.data.is_empty()), "nothing is half filled");
        followed.follower.ready().await;
        followed.shows(&[("configmaps/a", "1"), ("secrets/s", "")]).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_view_without_resources_is_ready() {
    let cluster = Cluster::empty(true).await;
    let followed = Followed::new(&cluster, &[]);
    timeout(SLOW, followed.follower.ready()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn gap_replaces_whole_view() {
    for cached in [true, false] {
        let down = (1..6).map(|nth| (Operation::Watch, nth, Fault::FailBefore));
        let broken = (Operation::Watch, 0, Fault::BreakWatch { after: 2 });
        let memory = Arc::default();
        let earlier = Cluster::new(Arc::clone(&memory), false, []);
        for name in ["a", "b", "c", "gone"] {
            set(&earlier, name, "1").await;
        }
        let cluster = Cluster::new(memory, cached, std::iter::once(broken).chain(down));
        let followed = Followed::ready(&cluster).await;
        let sizes = Arc::new(Mutex::new(Vec::new()));
        let observer = tokio::spawn({
            let follower = followed.follower.clone();
            let sizes = Arc::clone(&sizes);
            async move {
                let stays = ["configmaps/a", "configmaps/b", "configmaps/c"];
                follower
                    .wait_for(|view| {
                        assert!(stays.iter().all(|name| view.data.contains_key(*name)));
                        sizes.lock().unwrap().push(view.data.len());
                        false
                    })
                    .await;
            }
        });
        for datum in ["2", "3", "4"] {
            set(&earlier, "a", datum).await;
        }
        delete(&earlier, "gone").await;
        set(&earlier, "new", "1").await;
        let now = cluster.memory.current_revision().await.unwrap();
        cluster.memory.compact(now).await.unwrap();
        let [a, b, c] = [("configmaps/a", "4"), ("configmaps/b", "1"), ("configmaps/c", "1")];
        followed.shows(&[a, b, c, ("configmaps/new", "1")]).await;
        assert!(!observer.is_finished(), "no view was half filled");
        assert!(followed.follower.is_ready());
        observer.abort();
    }
}

#[tokio::test(start_paused = true)]
async fn interrupted_watch_is_resumed() {
    let broken = (0..3).map(|nth| (Operation::Watch, nth, Fault::BreakWatch { after: 2 }));
    let cluster = Cluster::new(Arc::default(), false, broken);
    let followed = Followed::ready(&cluster).await;
    let lists = cluster.store.calls(Operation::List);
    for n in 0..10 {
        set(&cluster, "a", &n.to_string()).await;
        set(&cluster, "b", &n.to_string()).await;
    }
    followed.shows(&[("configmaps/a", "9"), ("configmaps/b", "9")]).await;
    assert_eq!((cluster.store.calls(Operation::List), cluster.store.calls(Operation::Watch)), (lists, 4));
}

#[tokio::test(start_paused = true)]
async fn undecodable_object_is_ignored() {
    for cached in [true, false] {
        let cluster = Cluster::empty(cached).await;
        set(&cluster, "a", "1").await;
        cluster.store_raw("/registry/configmaps/ns/bad", b"k8s\0nonsense").await;
        let followed = Followed::ready(&cluster).await;
        followed.shows(&[("configmaps/a", "1")]).await;
        cluster.store_raw("/registry/configmaps/ns/a", b"{").await;
        followed.shows(&[]).await;
        let mended = br#"{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"ns"},"data":{"datum":"2"}}"#;
        cluster.store_raw("/registry/configmaps/ns/a", mended).await;
        followed.shows(&[("configmaps/a", "2")]).await;
    }
}

#[tokio::test(start_paused = true)]
async fn panicking_object_is_ignored_until_changed() {
    let cluster = Cluster::empty(true).await;
    set(&cluster, "a", "1").await;
    set(&cluster, "early", "mad").await;
    let followed = Followed::ready(&cluster).await;
    followed.shows(&[("configmaps/a", "1")]).await;
    set(&cluster, "late", "mad").await;
    set(&cluster, "b", "1").await;
    followed.shows(&[("configmaps/a", "1"), ("configmaps/b", "1")]).await;
    set(&cluster, "early", "2").await;
    followed.shows(&[("configmaps/a", "1"), ("configmaps/b", "1"), ("configmaps/early", "2")]).await;
    set(&cluster, "early", "mad").await;
    delete(&cluster, "late").await;
    followed.shows(&[("configmaps/a", "1"), ("configmaps/b", "1")]).await;
}

#[tokio::test(start_paused = true)]
async fn changes_clone_only_held_views() {
    let cluster = Cluster::empty(true).await;
    let followed = Followed::ready(&cluster).await;
    let copies = || followed.follower.read(|view| view.copies.load(Relaxed));
    for n in 0..20 {
        set(&cluster, "a", &n.to_string()).await;
        followed.shows(&[("configmaps/a", &n.to_string())]).await;
    }
    assert_eq!(copies(), 1, "the second of the two views");
    let snapshot = followed.follower.snapshot();
    set(&cluster, "b", "1").await;
    followed.shows(&[("configmaps/a", "19"), ("configmaps/b", "1")]).await;
    assert_eq!(snapshot.data.len(), 1, "what is held on to stays as it is");
    set(&cluster, "b", "2").await;
    followed.shows(&[("configmaps/a", "19"), ("configmaps/b", "2")]).await;
    assert_eq!(copies(), 2);
}
