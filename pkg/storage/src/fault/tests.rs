//! Fault injection follows its plan exactly.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::*;
use crate::memory::Memory;
use crate::{KeyValue, Update, UpdateResult, WatchItem, guaranteed_update};

mod keeps_the_contract_when_nothing_fails {
    use std::sync::Arc;

    use crate::fault::{FaultyStorage, Plan};
    use crate::memory::Memory;

    crate::conformance_suite!(
        crate::conformance::Fixture::new(FaultyStorage::new(Arc::new(Memory::new()), Plan::none())),
        start_paused = true
    );
}

fn faulty(faults: &[(Operation, u64, Fault)]) -> (Arc<Memory>, FaultyStorage<Memory>) {
    let inner = Arc::new(Memory::new());
    (inner.clone(), FaultyStorage::new(inner, Plan::script(faults.iter().copied())))
}

async fn put(store: &dyn Storage, value: &'static str, expected: Revision) -> Result<PutResult, Error> {
    store.put("/a", Bytes::from_static(value.as_bytes()), expected, None).await
}

async fn stored(store: &dyn Storage) -> Option<KeyValue> {
    store.get("/a").await.unwrap().kv
}

#[tokio::test]
async fn fail_before_writes_nothing() {
    let (inner, store) = faulty(&[(Operation::Put, 0, Fault::FailBefore)]);
    assert!(matches!(put(&store, "1", 0).await, Err(Error::Unavailable(_))));
    assert_eq!(stored(&*inner).await, None);
    assert!(matches!(put(&store, "1", 0).await, Ok(PutResult::Done(_))));
    assert_eq!((store.calls(Operation::Put), store.injected()), (2, 1));
}

#[tokio::test]
async fn fail_after_has_written() {
    let (inner, store) = faulty(&[(Operation::Put, 0, Fault::FailAfter)]);
    assert!(matches!(put(&store, "1", 0).await, Err(Error::Unavailable(_))));
    assert_eq!(stored(&*inner).await.unwrap().value, Bytes::from_static(b"1"));
}

#[tokio::test(start_paused = true)]
async fn a_delayed_call_is_carried_out_later() {
    let wait = Duration::from_secs(7);
    let (_, store) = faulty(&[(Operation::Put, 0, Fault::Delay(wait))]);
    let start = tokio::time::Instant::now();
    assert!(matches!(put(&store, "1", 0).await, Ok(PutResult::Done(_))));
    assert_eq!(start.elapsed(), wait);
}

#[tokio::test]
async fn broken_watch_fails_and_can_be_resumed() {
    let (_, store) = faulty(&[(Operation::Watch, 0, Fault::BreakWatch { after: 2 })]);
    let mut watch = store.watch("/", WatchOptions::default()).await.unwrap();
    let mut revisions = vec![];
    for value in ["1", "2", "3"] {
        let last = revisions.last().copied().unwrap_or(0);
        let PutResult::Done(revision) = put(&store, value, last).await.unwrap() else { panic!("stale") };
        revisions.push(revision);
    }
    let mut delivered = vec![];
    while let Some(Ok(WatchItem::Event(event))) = watch.next().await {
        delivered.push(event.kv.mod_revision);
    }
    assert_eq!(delivered, revisions[..2]);
    assert!(watch.next().await.is_none());

    let options = WatchOptions { start: revisions[2], ..WatchOptions::default() };
    let Some(Ok(WatchItem::Event(event))) = store.watch("/", options).await.unwrap().next().await else {
        panic!("the second watch is not broken");
    };
    assert_eq!(event.kv.mod_revision, revisions[2]);
}

#[tokio::test]
async fn guaranteed_update_reads_and_writes_once() {
    let (_, store) = faulty(&[]);
    let change = |_: Option<&KeyValue>| Ok(Update::Write(Bytes::from_static(b"1"), None));
    let updated = guaranteed_update::<Error>(&store, "/a", None, change).await.unwrap();
    assert!(matches!(updated, UpdateResult::Written(_)));
    assert_eq!((store.calls(Operation::Get), store.calls(Operation::Put)), (1, 1));
}

#[tokio::test]
async fn a_current_suggestion_saves_the_read() {
    let (_, store) = faulty(&[]);
    put(&store, "1", 0).await.unwrap();
    let suggestion = stored(&store).await;
    let gets = store.calls(Operation::Get);
    let change = |_: Option<&KeyValue>| Ok(Update::Write(Bytes::from_static(b"2"), None));
    guaranteed_update::<Error>(&store, "/a", suggestion, change).await.unwrap();
    assert_eq!(store.calls(Operation::Get), gets);
}

#[test]
fn seeded_plans_are_reproducible_and_keep_rates() {
    let rates = Rates {
        fail_before: 100,
        fail_after: 50,
        delay: 200,
        delay_max: Duration::from_millis(10),
        break_watch: 300,
        break_after_max: 5,
    };
    let draw = |seed, of| -> Vec<Fault> {
        let plan = Plan::seeded(seed, rates);
        (0..10_000).map(|nth| plan.fault(of, nth)).collect()
    };
    assert_eq!(draw(1, Operation::Put), draw(1, Operation::Put));
    assert_ne!(draw(1, Operation::Put), draw(2, Operation::Put));
    assert_ne!(draw(1, Operation::Put), draw(1, Operation::Get));

    let share = |of, kind: fn(&Fault) -> bool| draw(3, of).iter().filter(|f| kind(f)).count() / 100;
    let near = |share: usize, percent: usize| share.abs_diff(percent) <= 2;
    assert!(near(share(Operation::Put, |f| *f == Fault::FailBefore), 10));
    assert!(near(share(Operation::Put, |f| *f == Fault::FailAfter), 5));
    assert!(near(share(Operation::Put, |f| matches!(f, Fault::Delay(_))), 20));
    assert_eq!(share(Operation::Put, |f| matches!(f, Fault::BreakWatch { .. })), 0);
    assert!(near(share(Operation::Watch, |f| matches!(f, Fault::BreakWatch { .. })), 30));
    for fault in draw(4, Operation::Watch) {
        match fault {
            Fault::Delay(time) => assert!(time <= rates.delay_max),
            Fault::BreakWatch { after } => assert!(after < 5),
            Fault::None | Fault::FailBefore | Fault::FailAfter => {}
        }
    }
}

/// Increments through a store that loses requests and responses: each acknowledged one counts once, an
/// ambiguous one at most once.
#[tokio::test(start_paused = true)]
async fn acknowledged_updates_count_once_whatever_fails() {
    let rates = Rates {
        fail_before: 100,
        fail_after: 100,
        delay: 200,
        delay_max: Duration::from_millis(50),
        ..Rates::default()
    };
    for seed in 0..50 {
        let inner = Arc::new(Memory::new());
        let store = FaultyStorage::new(inner.clone(), Plan::seeded(seed, rates));
        let increment = |kv: Option<&KeyValue>| {
            let count = kv.map_or(0, |kv| u64::from_le_bytes(*kv.value.first_chunk().unwrap()));
            Ok(Update::Write(Bytes::copy_from_slice(&(count + 1).to_le_bytes()), None))
        };
        let writer = async || {
            let mut acknowledged = 0;
            let mut ambiguous = 0;
            for _ in 0..20 {
                match guaranteed_update::<Error>(&store, "/a", None, increment).await {
                    Ok(_) => acknowledged += 1,
                    Err(Error::Unavailable(_)) => ambiguous += 1,
                    Err(error) => panic!("{error}"),
                }
            }
            (acknowledged, ambiguous)
        };
        let writers = future::join_all((0..4).map(|_| writer())).await;
        let acknowledged: u64 = writers.iter().map(|(acknowledged, _)| acknowledged).sum();
        let ambiguous: u64 = writers.iter().map(|(_, ambiguous)| ambiguous).sum();
        let count = u64::from_le_bytes(*stored(&*inner).await.unwrap().value.first_chunk().unwrap());
        assert!((acknowledged..=acknowledged + ambiguous).contains(&count), "seed {seed}: {count}");
        assert!(ambiguous > 0 && store.injected() > 0, "seed {seed}");
    }
}
