//! Shared reads of the store's revision.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::time::Duration;

use bytes::Bytes;
use futures::future::join_all;
use storage::fault::{Fault, FaultyStorage, Operation, Plan};
use storage::memory::Memory;
use tokio::time::sleep;

use super::*;

/// Duration of each read of the store.
const READ: Duration = Duration::from_millis(10);

/// A store whose first reads of its revision have these faults.
fn scene(faults: &[Fault]) -> (Arc<ReadIndex>, Arc<FaultyStorage<Memory>>) {
    let plan = (0..).zip(faults).map(|(nth, fault)| (Operation::CurrentRevision, nth, *fault));
    let store = Arc::new(FaultyStorage::new(Arc::new(Memory::new()), Plan::script(plan)));
    (Arc::new(ReadIndex::new(store.clone())), store)
}

fn reads(store: &FaultyStorage<Memory>) -> u64 {
    store.calls(Operation::CurrentRevision)
}

#[tokio::test(start_paused = true)]
async fn early_readers_share_a_read() {
    let (index, store) = scene(&[]);
    let results = join_all((0..100).map(|_| index.join()).collect::<Vec<_>>()).await;
    assert!(results.iter().all(Result::is_ok));
    assert_eq!(reads(&store), 1);
}

#[tokio::test(start_paused = true)]
async fn readers_during_a_read_share_the_next() {
    let (index, store) = scene(&[Fault::Delay(READ), Fault::Delay(READ)]);
    let read = || {
        let index = Arc::clone(&index);
        tokio::spawn(async move { index.read().await })
    };
    let first = read();
    sleep(READ / 2).await;
    let stored_revision = match store.put("/r/a", Bytes::new(), 0, None).await.unwrap() {
        storage::PutResult::Done(revision) => revision,
        stale => panic!("{stale:?}"),
    };
    let late: Vec<_> = (0..50).map(|_| read()).collect();
    sleep(READ / 4).await;
    assert_eq!(reads(&store), 1, "never two at a time");
    first.await.unwrap().unwrap();
    for result in join_all(late).await {
        assert!(result.unwrap().unwrap() >= stored_revision);
    }
    assert_eq!(reads(&store), 2);
}

#[tokio::test(start_paused = true)]
async fn dropped_reader_does_not_cancel_the_read() {
    let (index, store) = scene(&[Fault::Delay(READ)]);
    let leaving = index.join();
    let staying = index.join();
    tokio::select! {
        _ = leaving => panic!("not yet"),
        () = sleep(READ / 2) => {}
    }
    staying.await.unwrap();
    assert_eq!(reads(&store), 1);
}

#[tokio::test(start_paused = true)]
async fn errors_reach_only_their_waiters() {
    let (index, store) = scene(&[Fault::FailBefore]);
    let results = join_all((0..3).map(|_| index.join()).collect::<Vec<_>>()).await;
    assert!(results.iter().all(Result::is_err));
    index.read().await.unwrap();
    assert_eq!(reads(&store), 2);
}

#[tokio::test(start_paused = true)]
async fn abandoned_read_finishes_before_the_next() {
    let (index, store) = scene(&[Fault::Delay(READ)]);
    tokio::select! {
        _ = index.read() => panic!("not yet"),
        () = sleep(READ / 2) => {}
    }
    index.read().await.unwrap();
    assert_eq!(reads(&store), 2);
}
