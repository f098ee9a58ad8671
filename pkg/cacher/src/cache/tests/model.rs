//! Random histories: lists, past states and watches with initial state, compared with a naive model of the
//! history.

use std::task::{Context, Poll};

use futures::StreamExt;

use super::*;

struct Watcher {
    watch: Watch,
    selection: Selection,
    /// The revision after which the watch starts; 0 until its initial state is complete.
    after: Revision,
    got: Vec<Seen>,
    wakes: Arc<Wakes>,
}

struct World {
    prefix: &'static str,
    keys: Vec<String>,
    cache: Arc<Cache>,
    history: History,
    watchers: Vec<Watcher>,
    dice: Dice,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        let prefix = [PODS, "/r/nodes/"][dice.roll(2)];
        let mut config = CacheConfig::new(prefix, (dice.roll(2) == 0).then_some(0));
        config.limits.scan_max = 1 + dice.roll(30);
        config.limits.events_max = 40 + dice.roll(100);
        let history = History::new(10);
        let keys = keys(prefix);
        let cache = Arc::new(Cache::new(config, Instant::now()));
        let mut world = World { prefix, keys, cache, history, watchers: Vec::new(), dice };
        world.fill();
        world
    }

    /// Resets and fills the cache; some of the later changes arrive afterwards.
    fn fill(&mut self) {
        self.cache.reset(None, Instant::now());
        // Watches end after delivering what they hold of the initial state and of changes.
        while !self.watchers.is_empty() {
            assert!(!self.read(0, usize::MAX));
        }
        let revision = self.history.revision;
        let elements = self.history.at(revision).into_values().collect();
        let later = self.history.happen(&mut self.dice, &self.keys);
        self.cache.fill(elements, revision, later, Instant::now());
        self.cache.config.fresh_revision.store(self.history.revision, SeqCst);
    }

    fn change(&mut self) {
        let batch = self.history.happen(&mut self.dice, &self.keys);
        self.cache.apply(batch, Instant::now());
        // Unrelated writes may have advanced the revision, too.
        self.history.revision += self.dice.roll(2) as Revision;
        self.cache.config.fresh_revision.store(self.history.revision, SeqCst);
    }

    fn selection(&mut self) -> Selection {
        any_selection(&mut self.dice, self.prefix, &self.keys)
    }

    /// Lists the present or a recent state, in pages or at once.
    fn list(&mut self) {
        let selection = self.selection();
        let back = self.dice.roll(60) as Revision * self.dice.roll(2) as Revision;
        let at = (self.history.revision - back).max(10);
        let Some(snapshot) = self.cache.snapshot_at(at) else { return };
        let limit = self.dice.roll(4);
        let mut actual = Vec::new();
        let mut start = None;
        loop {
            let page = list(&snapshot, &query(&selection, start.as_deref(), limit), at).unwrap();
            assert!(limit == 0 || page.items.len_max() <= limit);
            actual.extend(listed(page.items.iter()));
            start = page.next;
            let Some(next) = &start else { break };
            let remaining_keys = self.history.at(at).split_off(next).into_keys();
            let remaining_keys = remaining_keys.filter(|key| selection.scope.contains(key)).count() as u64;
            assert!(page.remaining.is_none_or(|remaining| remaining == remaining_keys));
            assert_eq!(page.remaining.is_some(), selection.predicate.is_everything());
        }
        assert_eq!(actual, self.history.list(&selection, at), "{selection:?} at {at}");
    }

    fn start(&mut self) {
        let selection = self.selection();
        let now = self.history.revision;
        let (start, start_revision) = match self.dice.roll(5) {
            0 | 1 => (WatchStart::State(Freshness::NotOlderThan(0)), 0),
            2 => (WatchStart::After(0), now),
            // Includes future revisions.
            _ => {
                let start_revision = (now + 5 - self.dice.roll(40) as Revision).max(10);
                (WatchStart::After(start_revision), start_revision)
            }
        };
        match self.cache.watch(watch_query(&selection, start, true)) {
            Ok(watch) => {
                self.watchers.push(Watcher {
                    watch,
                    selection,
                    after: start_revision,
                    got: Vec::new(),
                    wakes: Arc::default(),
                });
            }
            Err(error) => assert!(matches!(error, Error::TooOld { .. }), "{error:?}"),
        }
    }

    /// Polls a watch a few times. Returns true if the watch has not ended.
    fn read(&mut self, at: usize, polls: usize) -> bool {
        let watcher = &mut self.watchers[at];
        for _ in 0..polls {
            match watcher.poll() {
                Poll::Ready(Some(event)) => watcher.take(event.unwrap(), &self.history),
                Poll::Ready(None) => {
                    let all = match watcher.after {
                        0 => watcher.got.clone(),
                        after => self.history.events(&watcher.selection, after),
                    };
                    assert!(all.starts_with(&watcher.got));
                    self.watchers.swap_remove(at);
                    return false;
                }
                // The watch yielded.
                Poll::Pending if watcher.wakes.take() > 0 => {}
                Poll::Pending => {
                    assert_eq!(watcher.got, self.history.events(&watcher.selection, watcher.after));
                    break;
                }
            }
        }
        true
    }

    fn round(&mut self) {
        match self.dice.roll(12) {
            0..3 => self.change(),
            3 => self.start(),
            4 | 5 => self.list(),
            6 if self.dice.roll(10) == 0 => self.fill(),
            7 if self.dice.roll(10) == 0 => _ = self.cache.sweep(&Budget::new(0)),
            8 if !self.watchers.is_empty() && self.dice.roll(6) == 0 => {
                let at = self.dice.roll(self.watchers.len());
                self.watchers.swap_remove(at);
            }
            _ if !self.watchers.is_empty() => {
                let at = self.dice.roll(self.watchers.len());
                let polls = 1 + self.dice.roll(20);
                self.read(at, polls);
            }
            _ => {}
        }
    }
}

impl Watcher {
    fn poll(&mut self) -> Poll<Option<Result<crate::Event, Error>>> {
        let waker = self.wakes.waker();
        self.watch.poll_next_unpin(&mut Context::from_waker(&waker))
    }

    fn take(&mut self, event: crate::Event, history: &History) {
        match event.element {
            Some(element) => self.got.push(seen(event.kind, &element, event.revision)),
            None => {
                // The end of the initial state.
                assert!(event.initial_events_end && self.after == 0);
                let actual = std::mem::take(&mut self.got);
                assert_eq!(actual, history.list(&self.selection, event.revision), "{:?}", self.selection);
                self.after = event.revision;
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn lists_and_watches_match_the_model() {
    for seed in 0..80 {
        let mut world = World::new(seed);
        (0..400).for_each(|_| world.round());
        while !world.watchers.is_empty() {
            if world.read(0, usize::MAX) {
                world.watchers.swap_remove(0);
            }
        }
        assert_eq!(world.cache.stats().watches, 0);
    }
}
