//! Caches that start with the state of another store's caches.

use super::*;
use crate::Element;

/// Prefix of the resource that is installed later.
const LATE: &str = "/r/example.com/late/";
const LATEST: Freshness = Freshness::Consistent;

/// A seeded store with caches that counts its lists and watches.
struct Fork {
    store: Arc<FaultyStorage<Memory>>,
    delegator: Delegator,
    driver: JoinHandle<()>,
}

impl Drop for Fork {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

/// A fork of a store. `change` runs before its caches start.
async fn fork(parent: &Memory, of: &Delegator, change: impl AsyncFnOnce(&dyn Storage)) -> Fork {
    let image = parent.image().unwrap();
    let seed = of.seed(image.revision()).await.unwrap();
    let store = Arc::new(FaultyStorage::new(Arc::new(Memory::from_image(&image)), Plan::script([])));
    change(&*store).await;
    let configs = vec![config(PREFIX), config("/r/group/q/"), config("/r/s/")];
    let (delegator, driver) = Delegator::new(store.clone(), ROOT, configs, Options::default());
    let driver = tokio::spawn(driver.seeded(Arc::new(seed)).run());
    delegator.ready().await;
    Fork { store, delegator, driver }
}

async fn parent() -> (Arc<Memory>, Driven) {
    let store = Arc::new(Memory::new());
    for name in ["a", "b"] {
        set(&*store, name, Some("yes")).await;
    }
    put(&*store, &format!("{LATE}x"), Some("yes")).await;
    let driven = Driven::ready(store.clone()).await;
    assert!(driven.delegator.install(config(LATE)).ready().await);
    (store, driven)
}

async fn keys(delegator: &Delegator, prefix: &str) -> Vec<Arc<Element>> {
    let scope = Scope { prefix: prefix.to_owned(), exact: false };
    let page = Reader::new(delegator, prefix).list(&ListQuery { scope, ..all(LATEST) }).await.unwrap();
    page.items.iter().collect()
}

#[tokio::test(start_paused = true)]
async fn fork_lists_nothing_and_shares_unchanged_objects() {
    let (store, parent) = parent().await;
    let fork = fork(&store, &parent.delegator, async |_: &dyn Storage| ()).await;
    assert!(fork.delegator.install(config(LATE)).ready().await);
    for prefix in [PREFIX, LATE] {
        let fork_keys = keys(&fork.delegator, prefix).await;
        let parent_keys = keys(&parent.delegator, prefix).await;
        assert!(!fork_keys.is_empty() && fork_keys.len() == parent_keys.len());
        assert!(
            fork_keys
                .iter()
                .zip(&parent_keys)
                .all(|(fork_keys, parent_keys)| Arc::ptr_eq(fork_keys, parent_keys)),
            "{prefix}"
        );
    }
    assert_eq!(fork.store.calls(Operation::List), 0);
    set(&*fork.store, "a", None).await;
    put(&*fork.store, &format!("{LATE}y"), Some("yes")).await;
    assert_eq!(names(&Reader::new(&fork.delegator, PREFIX).list(&all(LATEST)).await.unwrap()), ["b"]);
    assert_eq!(keys(&fork.delegator, LATE).await.len(), 2);
    assert_eq!(parent.reader().list(&all(LATEST)).await.unwrap().items.iter().count(), 2);
    assert_eq!(fork.delegator.differences().await.unwrap(), []);
}

#[tokio::test(start_paused = true)]
async fn early_writes_of_a_fork_are_cached() {
    let (store, parent) = parent().await;
    let fork = fork(&store, &parent.delegator, async |store: &dyn Storage| {
        set(store, "c", Some("yes")).await;
        put(store, &format!("{LATE}y"), Some("yes")).await;
    });
    let fork = fork.await;
    assert_eq!(
        names(&Reader::new(&fork.delegator, PREFIX).list(&all(LATEST)).await.unwrap()),
        ["a", "b", "c"]
    );
    assert!(fork.delegator.install(config(LATE)).ready().await);
    assert_eq!(keys(&fork.delegator, LATE).await.len(), 2);
    assert_eq!(fork.delegator.differences().await.unwrap(), []);
}

#[tokio::test(start_paused = true)]
async fn past_revision_has_no_seed() {
    let (store, parent) = parent().await;
    let revision = store.image().unwrap().revision();
    let later = set(&*store, "c", Some("yes")).await;
    assert!(parent.delegator.seed(later).await.is_some());
    assert!(parent.delegator.seed(revision).await.is_none());
}
