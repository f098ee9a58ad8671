//! Records acknowledged writes, to verify them after a crash. Writers announce each write before it. So
//! afterwards a key must contain either the last acknowledged write or the announced one, complete.

use std::collections::{BTreeMap, HashSet};

use bytes::Bytes;
use futures::StreamExt;
use storage::{
    Error, EventKind, ListOptions, PutResult, Revision, Storage, WatchItem, WatchOptions, WatchStream,
};

/// A reproducible source of numbers.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^ (x >> 31)
    }

    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}

/// The content for a stamp: the stamp, then bytes derived from it.
fn content(stamp: u64) -> Bytes {
    let mut random = Random(stamp);
    let length = random.below(1000) as usize * [1, 1, 1, 20][random.below(4) as usize];
    let mut bytes = stamp.to_le_bytes().to_vec();
    while bytes.len() < 8 + length {
        bytes.extend(random.next().to_le_bytes());
    }
    bytes.into()
}

/// The stamp of a content. Panics if the content is incomplete or mixed.
fn stamp(key: &str, value: &Bytes) -> u64 {
    let stamp = value.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    assert!(*value == content(stamp), "{key} holds {} bytes that nobody wrote", value.len());
    stamp
}

/// A writer's report. A stamp of 0 is a deletion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Entry {
    /// A write is about to start.
    Try { key: String, stamp: u64 },
    /// The write was acknowledged.
    Done { key: String, stamp: u64, revision: Revision },
    /// A compaction is about to start.
    Compact { revision: Revision },
}

/// Writes, deletes and occasionally compacts, below a prefix of its own, until the store fails.
pub(crate) async fn write_until_failure(
    store: &dyn Storage,
    writer: u64,
    mut random: Random,
    mut say: impl FnMut(Entry),
) -> Error {
    let keys: Vec<_> = (0..5).map(|i| format!("/w/{writer}/{i}")).collect();
    loop {
        let key = keys[random.below(5) as usize].clone();
        let round = async {
            let expected = store.get(&key).await?.kv.map_or(0, |kv| kv.mod_revision);
            let delete = expected != 0 && random.below(4) == 0;
            let stamp = if delete { 0 } else { random.next() | 1 };
            say(Entry::Try { key: key.clone(), stamp });
            let written = if delete {
                store.delete(&key, expected).await?
            } else {
                store.put(&key, content(stamp), expected, None).await?
            };
            let PutResult::Done(revision) = written else { panic!("{key}: {written:?}, wanted Done") };
            say(Entry::Done { key: key.clone(), stamp, revision });
            if random.below(100) == 0 {
                let revision = revision - 200;
                say(Entry::Compact { revision });
                store.compact(revision).await?;
            }
            Ok(())
        };
        if let Err(error) = round.await {
            return error;
        }
    }
}

/// The valid contents of a key.
#[derive(Debug, Default, Clone)]
struct Account {
    /// Stamp and revision of the last acknowledged write.
    acknowledged: (u64, Revision),
    /// The stamp of the running write.
    attempt: Option<u64>,
}

/// The expected contents of the store.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    accounts: BTreeMap<String, Account>,
    acknowledged: BTreeMap<Revision, (String, u64)>,
    compacted: Revision,
    revision: Revision,
}

impl Ledger {
    pub(crate) fn enter(&mut self, entry: Entry) {
        match entry {
            Entry::Try { key, stamp } => {
                self.accounts.entry(key).or_default().attempt = Some(stamp);
            }
            Entry::Done { key, stamp, revision } => {
                let account = self.accounts.entry(key.clone()).or_default();
                *account = Account { acknowledged: (stamp, revision), attempt: None };
                assert!(self.acknowledged.insert(revision, (key, stamp)).is_none(), "{revision} twice");
                self.revision = self.revision.max(revision);
            }
            Entry::Compact { revision } => self.compacted = self.compacted.max(revision),
        }
    }

    /// Number of writes acknowledged since the last settlement.
    pub(crate) fn acknowledged(&self) -> usize {
        self.acknowledged.len()
    }

    /// Verifies a reopened store, then uses its state as the new base.
    pub(crate) async fn settle(&mut self, store: &dyn Storage) {
        let revision = store.current_revision().await.unwrap();
        assert!(revision >= self.revision, "revision {revision}, {} was acknowledged", self.revision);
        self.settle_state(store).await;
        self.settle_history(store, revision).await;
        let expected = store.get("/probe").await.unwrap().kv.map_or(0, |kv| kv.mod_revision);
        let probe = store.put("/probe", content(1), expected, None).await.unwrap();
        assert_eq!(probe, PutResult::Done(revision + 1));
        self.revision = revision + 1;
    }

    async fn settle_state(&mut self, store: &dyn Storage) {
        let listing = store.list("/w/", ListOptions::default()).await.unwrap();
        let mut stored: BTreeMap<_, _> = listing
            .kvs
            .iter()
            .map(|kv| (kv.key.clone(), (stamp(&kv.key, &kv.value), kv.mod_revision)))
            .collect();
        for (key, account) in &mut self.accounts {
            let current = stored.remove(key).unwrap_or((0, 0));
            let (stamp, revision) = account.acknowledged;
            let is_unchanged = current == account.acknowledged || (stamp == 0 && current.0 == 0);
            let attempted = account.attempt == Some(current.0) && (current.0 == 0 || current.1 > revision);
            assert!(is_unchanged || attempted, "{key} holds {current:?} instead of {account:?}");
            *account = Account { acknowledged: current, attempt: None };
        }
        assert_eq!(stored, BTreeMap::new(), "keys that nobody wrote");
    }

    /// From the compacted revision on, every revision must have its event, and acknowledged ones the
    /// acknowledged content.
    async fn settle_history(&mut self, store: &dyn Storage, until: Revision) {
        let mut start = self.acknowledged.keys().next().copied().unwrap_or(until + 1);
        let mut events = match watch(store, start).await {
            Ok(events) => events,
            Err(Error::Compacted { oldest }) => {
                assert!(oldest <= self.compacted, "compacted to {oldest}, asked {}", self.compacted);
                start = oldest;
                watch(store, start).await.unwrap()
            }
            Err(error) => panic!("{error}"),
        };
        let mut missing: HashSet<_> = self.acknowledged.range(start..).map(|(r, _)| *r).collect();
        for revision in start..=until {
            let Some(Ok(WatchItem::Event(event))) = events.next().await else {
                panic!("the history ends before {revision}");
            };
            assert_eq!(event.kv.mod_revision, revision);
            let stamp = match event.kind {
                EventKind::Delete => 0,
                _ => stamp(&event.kv.key, &event.kv.value),
            };
            if let Some(expected) = self.acknowledged.get(&revision) {
                assert_eq!((event.kv.key, stamp), *expected, "at {revision}");
                missing.remove(&revision);
            }
        }
        assert_eq!(missing, HashSet::new(), "acknowledged, but not in the history up to {until}");
        self.acknowledged.clear();
    }
}

async fn watch(store: &dyn Storage, start: Revision) -> Result<WatchStream, Error> {
    store.watch("/", WatchOptions { start, ..WatchOptions::default() }).await
}
