//! The conformance suite of the storage contract. Each guarantee is an async function;
//! [`conformance_suite!`](crate::conformance_suite) makes each of them a `#[tokio::test]` of a backend.
//!
//! A test works below its own prefix and looks at nothing else, so that all can run concurrently on one
//! server. Only [`compaction`] affects other tests, because it removes history, so the suite runs those tests
//! alone.
//!
//! The absence of an event is proved by triggering a later event, never by waiting. Timeouts only bound the
//! time that a broken store can block the suite.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::missing_panics_doc)]

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;

use crate::{
    Error, KeyValue, ListOptions, Listing, PutResult, Revision, Storage, WatchEvent, WatchItem, WatchOptions,
    WatchStream,
};

pub mod compaction;
pub mod guaranteed_updates;
pub mod lists;
pub mod reads;
pub mod ttls;
pub mod watches;
pub mod writes;

/// Timeout for any operation of a correct store, including the expiry of a shared lease.
const PATIENCE: Duration = Duration::from_secs(100);

/// A store under test, with a guard that must live as long (a directory, a server).
pub struct Fixture {
    store: Arc<dyn Storage>,
    guard: Option<Box<dyn Any + Send>>,
}

impl Fixture {
    /// A store without a guard.
    pub fn new(store: impl Storage) -> Self {
        Fixture { store: Arc::new(store), guard: None }
    }

    /// A store that is also used elsewhere, without a guard.
    pub fn shared(store: Arc<dyn Storage>) -> Self {
        Fixture { store, guard: None }
    }

    /// Drops `guard` after the test and after the store.
    #[must_use]
    pub fn keeping(self, guard: impl Any + Send) -> Self {
        Fixture { guard: Some(Box::new(guard)), ..self }
    }
}

/// Runs one test on one store. The prefix is unique by the name and the store's revision.
pub async fn run<C: Future<Output = ()>>(fixture: Fixture, name: &str, claim: impl FnOnce(TestPrefix) -> C) {
    let Fixture { store, guard } = fixture;
    let revision = store.current_revision().await.expect("the store answers");
    let path = format!("/registry/conformance/{name}/{revision}/");
    claim(TestPrefix { store, path }).await;
    drop(guard);
}

/// The part of a store that belongs to one test. Names are relative to it.
#[derive(Clone)]
pub struct TestPrefix {
    store: Arc<dyn Storage>,
    path: String,
}

impl TestPrefix {
    fn key(&self, name: &str) -> String {
        format!("{}{name}", self.path)
    }

    fn name<'a>(&self, key: &'a str) -> &'a str {
        key.strip_prefix(&self.path).expect("the store stays below the prefix")
    }

    async fn put(&self, name: &str, value: &str, expected: Revision) -> PutResult {
        let value = Bytes::copy_from_slice(value.as_bytes());
        self.store.put(&self.key(name), value, expected, None).await.unwrap()
    }

    async fn create(&self, name: &str, value: &str) -> Revision {
        done(self.put(name, value, 0).await)
    }

    async fn update(&self, name: &str, value: &str, expected: Revision) -> Revision {
        done(self.put(name, value, expected).await)
    }

    async fn delete(&self, name: &str, expected: Revision) -> Revision {
        done(self.store.delete(&self.key(name), expected).await.unwrap())
    }

    async fn get(&self, name: &str) -> Option<KeyValue> {
        self.store.get(&self.key(name)).await.unwrap().kv
    }

    async fn value(&self, name: &str) -> Option<String> {
        self.get(name).await.map(|kv| text(&kv))
    }

    async fn list(&self, options: ListOptions) -> Listing {
        self.store.list(&self.path, options).await.unwrap()
    }

    async fn list_at(&self, revision: Revision) -> Result<Listing, Error> {
        self.store.list(&self.path, ListOptions { revision, ..ListOptions::default() }).await
    }

    async fn watch(&self, options: WatchOptions) -> Watching {
        self.watch_below("", options).await
    }

    async fn watch_from(&self, start: Revision) -> Watching {
        self.watch(WatchOptions { start, ..WatchOptions::default() }).await
    }

    async fn watch_below(&self, name: &str, options: WatchOptions) -> Watching {
        let stream = self.store.watch(&self.key(name), options).await.unwrap();
        Watching { stream, prefix: self.path.clone() }
    }
}

fn text(kv: &KeyValue) -> String {
    String::from_utf8(kv.value.to_vec()).unwrap()
}

/// The revision of a write, which must have succeeded.
fn done(written: PutResult) -> Revision {
    match written {
        PutResult::Done(revision) => revision,
        PutResult::Stale { current, .. } => panic!("the write was refused, the key holds {current:?}"),
    }
}

/// The current state in a stale write's result.
fn stale(written: PutResult) -> Option<KeyValue> {
    match written {
        PutResult::Stale { current, .. } => current,
        PutResult::Done(revision) => panic!("the write happened, at {revision}"),
    }
}

/// Names and values of a listing, in order.
fn pairs(prefix: &TestPrefix, listing: &Listing) -> Vec<(String, String)> {
    listing.kvs.iter().map(|kv| (prefix.name(&kv.key).to_owned(), text(kv))).collect()
}

struct Watching {
    stream: WatchStream,
    prefix: String,
}

impl Watching {
    /// The next item; fails at a timeout or the end.
    async fn item(&mut self) -> Result<WatchItem, Error> {
        let next = tokio::time::timeout(PATIENCE, self.stream.next());
        next.await.expect("the watch delivers in time").expect("the watch goes on")
    }

    /// The next event; skips progress.
    async fn event(&mut self) -> WatchEvent {
        loop {
            if let WatchItem::Event(event) = self.item().await.unwrap() {
                return event;
            }
        }
    }

    /// Name and revision of the next event.
    async fn change(&mut self) -> (String, Revision) {
        let event = self.event().await;
        let name = event.kv.key.strip_prefix(&self.prefix).expect("the watch stays below its prefix");
        (name.to_owned(), event.kv.mod_revision)
    }
}

/// Spawns all `futures` as tasks and returns their results.
async fn all_at_once<T: Send + 'static>(
    tasks: impl IntoIterator<Item = impl Future<Output = T> + Send + 'static>,
) -> Vec<T> {
    let tasks: Vec<_> = tasks.into_iter().map(tokio::spawn).collect();
    let mut results = Vec::with_capacity(tasks.len());
    for task in tasks {
        results.push(task.await.expect("the task ends without a panic"));
    }
    results
}

/// Makes every test of the suite a test of a backend.
///
/// The argument is an expression that builds a new [`Fixture`]; it is evaluated inside an async function once
/// per test, so it may await. Arguments for `#[tokio::test]` follow.
///
/// ```ignore
/// mod keeps_the_contract {
///     storage::conformance_suite!(Fixture::new(Memory::new()), start_paused = true);
/// }
/// ```
///
/// Tests that compact the store run alone, the others concurrently.
#[macro_export]
macro_rules! conformance_suite {
    ($fresh:expr $(, $($args:tt)*)?) => {
        static HISTORY: ::tokio::sync::RwLock<()> = ::tokio::sync::RwLock::const_new(());

        async fn fresh() -> $crate::conformance::Fixture {
            $fresh
        }

        $crate::conformance_suite! { @group write [$($($args)*)?] compaction:
            a_compacted_revision_cannot_be_listed
            a_watch_from_a_compacted_revision_is_compacted
            a_watch_from_the_oldest_revision_misses_nothing
            overtaken_watch_misses_nothing_silently
            an_open_watch_survives_compaction
            compacting_again_is_not_an_error
            compacting_the_future_is_an_error
            compactions_are_published
            compaction_keeps_the_present
            the_oldest_revision_can_be_listed
        }
        $crate::conformance_suite! { @group read [$($($args)*)?] guaranteed_updates:
            a_deletion_is_carried_out
            a_kept_value_is_not_written
            a_missing_key_is_created
            no_op_on_stale_suggestion_is_verified
            an_error_on_a_current_suggestion_is_returned
            error_on_stale_suggestion_is_verified
            an_error_on_fresh_state_is_returned
            deleting_a_missing_key_changes_nothing
            equal_bytes_are_not_written
            lost_races_converge
        }
        $crate::conformance_suite! { @group read [$($($args)*)?] lists:
            a_future_revision_cannot_be_listed
            limit_cuts_page_and_count_includes_rest
            a_list_carries_the_revision_of_the_store
            a_list_is_ordered_by_the_bytes_of_keys
            a_list_of_nothing_is_empty
            a_list_stays_below_its_prefix
            a_past_revision_shows_the_past
            start_is_inclusive_and_counted
            streams_equal_lists
            uncounted_page_reports_remaining_keys
            many_keys_are_listed_and_counted
            pages_of_one_revision_are_consistent
        }
        $crate::conformance_suite! { @group read [$($($args)*)?] reads:
            a_missing_key_is_none
            an_acknowledged_write_is_read
            count_counts_the_prefix_alone
            the_current_revision_covers_acknowledged_writes
            the_revision_is_above_zero
            the_store_is_healthy
        }
        $crate::conformance_suite! { @group read [$($($args)*)?] ttls:
            a_longer_ttl_replaces_the_shorter_one
            a_write_without_a_ttl_removes_the_ttl
            an_expired_key_can_be_created_again
            expiry_is_a_deletion_with_its_own_revision
        }
        $crate::conformance_suite! { @group read [$($($args)*)?] watches:
            a_dropped_watch_does_not_disturb_the_others
            a_prefix_watch_ignores_siblings
            a_resumed_watch_goes_on_without_gap_or_repetition
            a_watch_from_a_future_revision_waits_for_it
            a_watch_from_a_past_revision_replays_it
            a_watch_from_now_starts_with_the_next_write
            progress_follows_acknowledged_writes
            an_exact_watch_ignores_longer_keys
            concurrent_writers_cause_no_gaps_or_repetition
            events_have_kind_and_content
            many_watches_see_the_same
            previous_values_are_delivered_on_request
            progress_closes_every_batch_and_never_goes_back
            progress_comes_after_what_it_covers
            progress_is_only_sent_on_request
        }
        $crate::conformance_suite! { @group read [$($($args)*)?] writes:
            a_create_makes_the_key_readable
            a_create_of_an_existing_key_is_stale
            a_delete_of_a_missing_key_is_stale
            a_delete_removes_the_key
            a_mebibyte_survives
            a_stale_delete_changes_nothing
            a_stale_put_changes_nothing
            an_update_of_a_missing_key_is_stale
            an_update_replaces_the_value
            any_bytes_are_a_value
            every_write_has_its_own_larger_revision
            keys_are_independent
            one_of_many_creators_wins
        }
    };
    (@group $lock:ident $args:tt $group:ident: $($claim:ident)*) => {
        mod $group {
            $($crate::conformance_suite! { @claim $lock $args $group $claim })*
        }
    };
    (@claim $lock:ident [$($args:tt)*] $group:ident $claim:ident) => {
        #[::tokio::test($($args)*)]
        async fn $claim() {
            let _history = super::HISTORY.$lock().await;
            let claim = $crate::conformance::$group::$claim;
            $crate::conformance::run(super::fresh().await, stringify!($claim), claim).await;
        }
    };
}

#[cfg(test)]
mod tests {
    //! A test that the macro does not list would never run.

    #[test]
    fn suite_lists_every_test() {
        let suite = include_str!("conformance.rs");
        let groups = [
            include_str!("conformance/compaction.rs"),
            include_str!("conformance/guaranteed_updates.rs"),
            include_str!("conformance/lists.rs"),
            include_str!("conformance/reads.rs"),
            include_str!("conformance/ttls.rs"),
            include_str!("conformance/watches.rs"),
            include_str!("conformance/writes.rs"),
        ];
        let claims = groups.iter().flat_map(|group| group.split("pub async fn ").skip(1));
        let names = claims.filter_map(|text| text.split_once('(')).map(|(name, _)| name);
        let missing: Vec<_> = names.filter(|name| !suite.lines().any(|line| line.trim() == *name)).collect();
        assert_eq!(missing, Vec::<&str>::new());
    }
}
