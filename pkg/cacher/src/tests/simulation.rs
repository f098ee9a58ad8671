//! Clients that follow the API's rules, over a store that fails by lot: whatever goes wrong, once it is
//! over they all have what storage has. A seed replays.

use std::collections::BTreeMap;

use futures::{FutureExt, StreamExt};
use storage::fault::Rates;
use tokio::time::sleep;

use super::model::Random;
use super::*;
use crate::{Error, EventType};

/// What a client knows: name and revision of each object.
type Known = BTreeMap<String, Revision>;

/// A client that keeps a copy of everything, as informers do: it lists, watches from there, resumes
/// where a watch ends, and lists again when that is too long ago.
struct Informer {
    reader: Reader,
    known: Known,
    seen: Revision,
    /// How often it had to list.
    lists: usize,
}

impl Informer {
    fn new(reader: Reader) -> Self {
        Informer { reader, known: Known::new(), seen: 0, lists: 0 }
    }

    async fn run(&mut self) {
        loop {
            match self.reader.watch(watching(WatchStart::After(self.seen))).await {
                _ if self.seen == 0 => self.list().await,
                Ok(events) => self.follow(events).await,
                Err(Error::TooOld { .. }) => self.list().await,
                Err(_) => sleep(Duration::from_millis(200)).await,
            }
        }
    }

    async fn list(&mut self) {
        // Never older than what it saw, or its copy would go back in time.
        match self.reader.list(&all(Freshness::NotOlderThan(self.seen))).await {
            Ok(page) => {
                assert!(page.revision >= self.seen);
                self.known =
                    page.items.iter().map(|element| (element.key().to_owned(), element.revision())).collect();
                self.seen = page.revision;
                self.lists += 1;
            }
            Err(_) => sleep(Duration::from_millis(200)).await,
        }
    }

    async fn follow(&mut self, mut events: Watch) {
        while let Some(Ok(event)) = events.next().await {
            let Some(element) = &event.element else { continue };
            let key = element.key().to_owned();
            assert!(event.revision > self.seen, "{key} at {} after {}", event.revision, self.seen);
            self.seen = event.revision;
            let before = match event.kind {
                EventType::Deleted => self.known.remove(&key),
                _ => self.known.insert(key.clone(), event.revision),
            };
            assert_eq!(before.is_none(), event.kind == EventType::Added, "{key} at {}", event.revision);
        }
    }
}

/// The truth.
async fn stored(store: &Memory) -> Known {
    let listing = store.list(PREFIX, ListOptions::default()).await.unwrap();
    listing.kvs.into_iter().map(|kv| (kv.key, kv.mod_revision)).collect()
}

async fn simulate(seed: u64) -> usize {
    let rates = Rates {
        fail_before: 150,
        fail_after: 50,
        delay: 200,
        delay_max: Duration::from_millis(300),
        break_watch: 500,
        break_after_max: 30,
    };
    let memory = Arc::new(Memory::new());
    let store = Arc::new(Faulty::new(memory.clone(), Plan::seeded(seed, rates)));
    let driven = Driven::new(store.clone(), Options { held_back_max: 10, ..Options::default() });
    let mut random = Random(seed * 2 + 1);
    let mut informer = Informer::new(driven.reader());
    {
        let mut running = Box::pin(informer.run());
        for step in 0..400 {
            let key = format!("{PREFIX}{}", random.below(20));
            let exists = memory.get(&key).await.unwrap().kv.is_some();
            let value = (!exists || random.below(3) > 0).then_some("yes");
            put(&*memory, &key, value).await;
            if random.below(60) == 0 {
                memory.compact(memory.current_revision().await.unwrap()).await.unwrap();
            }
            let pause = Duration::from_millis(random.pick(&[0, 0, 1, 10, 100]));
            tokio::select! {
                () = &mut running => unreachable!("it runs for ever"),
                () = sleep(pause) => {}
            }
            if step == 399 {
                store.set_plan(Plan::none());
                let quiet = sleep(Duration::from_secs(60));
                tokio::select! {
                    () = &mut running => unreachable!("it runs for ever"),
                    () = quiet => {}
                }
            }
        }
    }
    assert!(store.injected() > 0, "seed {seed} tests nothing");
    assert_eq!(informer.known, stored(&memory).await, "seed {seed}");
    assert_eq!(driven.delegator.ready().now_or_never(), Some(()), "seed {seed}");
    assert_eq!(driven.delegator.differences().await.unwrap(), [], "seed {seed}");
    informer.lists
}

#[tokio::test(start_paused = true)]
async fn clients_come_to_know_what_storage_knows_whatever_goes_wrong() {
    let mut lists = 0;
    for seed in 0..60 {
        lists += simulate(seed).await;
    }
    assert!(lists > 60, "no client ever had to list again");
}
