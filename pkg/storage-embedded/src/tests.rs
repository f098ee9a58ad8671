//! The store as a whole: the contract, reopening, failures of the disk.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods)]

use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use futures::StreamExt;
use storage::conformance::Fixture;
use storage::{Error, Revision, Storage, WatchItem, WatchStream, Written};

use crate::{Embedded, Options};

#[path = "../tests/support/ledger.rs"]
mod ledger;

mod failures;
mod reopening;
pub(crate) mod sim_disk;

mod keeps_the_contract {
    use crate::tests::{fixture, options};

    storage::conformance_suite!(fixture(options()), flavor = "multi_thread", worker_threads = 2);
}

/// With no room for history in memory, every read of the past comes from disk.
mod keeps_the_contract_with_history_on_disk {
    use crate::tests::{fixture, options};

    storage::conformance_suite!(
        fixture(crate::Options { history_bytes_max: 0, ..options() }),
        flavor = "multi_thread",
        worker_threads = 2
    );
}

fn options() -> Options {
    Options::new(Arc::new(SystemTime::now))
}

fn fixture(options: Options) -> Fixture {
    let dir = tempfile::tempdir().unwrap();
    let store = Embedded::open(dir.path(), options).unwrap();
    Fixture::shared(store).keeping(dir)
}

async fn put(store: &dyn Storage, key: &str, value: &str, expected: Revision) -> Result<Written, Error> {
    store.put(key, Bytes::copy_from_slice(value.as_bytes()), expected, None).await
}

/// A write that must happen.
async fn must_put(store: &dyn Storage, key: &str, value: &str, expected: Revision) -> Revision {
    match put(store, key, value, expected).await.unwrap() {
        Written::Done(revision) => revision,
        stale => panic!("{stale:?}"),
    }
}

/// The next event is at this revision.
async fn expect_revision(watch: &mut WatchStream, revision: Revision) {
    match watch.next().await {
        Some(Ok(WatchItem::Event(event))) => assert_eq!(event.kv.mod_revision, revision),
        other => panic!("wanted the event at {revision}, got {other:?}"),
    }
}
