//! One session of the caches: from an empty start to the gap in the watch that ends it.

use std::sync::Arc;

use futures::StreamExt;
use futures::future::{AbortHandle, Abortable, Aborted, BoxFuture};
use futures::stream::FuturesUnordered;
use storage::{Error, Revision, WatchEvent, WatchItem};
use tokio::sync::{Semaphore, watch};
use tokio::task::coop::consume_budget;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use super::feed::{End, Feed};
use super::initial_list::{InitialList, fill};
use super::retry_unreadable::{self, can_decrypt_any};
use super::slot::Slots;
use crate::delegator::Inner;
use crate::source::Source;
use crate::{Resource, Seed};

/// Running lists with their slot numbers. Aborted lists yield nothing.
type RunningLists<'a> = FuturesUnordered<BoxFuture<'a, (u32, Result<InitialList, Aborted>)>>;

/// Running decryption retries with their slot numbers; true if a value could be decrypted.
type RunningRetries<'a> = FuturesUnordered<BoxFuture<'a, (u32, Arc<Resource>, bool)>>;

/// The caches of one store between two gaps of the watch.
pub(super) struct Session<'a> {
    inner: &'a Inner,
    source: &'a Arc<Source>,
    feed: Feed<'a>,
    slots: Slots,
    /// Slots with changes in the incomplete batch.
    changed_slots: Vec<u32>,
    /// Initial contents, as long as they are valid for caches that are not yet filled.
    seed: Option<Arc<Seed>>,
    fills: RunningLists<'a>,
    attempts: RunningRetries<'a>,
    pages: Arc<Semaphore>,
    compacted: watch::Receiver<Revision>,
}

impl<'a> Session<'a> {
    /// Opens the watch and starts to list every resource that the seed does not contain. With a seed, the
    /// watch starts at its revision.
    pub(super) async fn begin(
        inner: &'a Inner,
        source: &'a Arc<Source>,
        seed: Option<Arc<Seed>>,
    ) -> Result<Self, Error> {
        let start = match &seed {
            Some(seed) => seed.revision(),
            None => source.store.current_revision().await?,
        };
        let feed = Feed::open(&*source.store, &inner.prefix, start).await?;
        // No cache is ready, and each will be listed at this revision or a later one.
        source.frontier.publish(start);
        let mut session = Session {
            inner,
            source,
            feed,
            slots: Slots::new(&inner.prefix, source),
            changed_slots: Vec::new(),
            seed,
            fills: RunningLists::new(),
            attempts: RunningRetries::new(),
            pages: Arc::new(Semaphore::new(inner.options.concurrent_lists_max.max(1))),
            compacted: source.store.compacted(),
        };
        session.on_changed();
        Ok(session)
    }

    /// Runs the session until the feed ends.
    pub(super) async fn run(&mut self) -> End {
        let mut retry = interval_at(Instant::now() + retry_unreadable::INTERVAL, retry_unreadable::INTERVAL);
        retry.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            consume_budget().await;
            // The fixed order makes simulations deterministic. Rare events come first.
            tokio::select! {
                biased;
                Some((at, filled)) = self.fills.next() => if let Ok(filled) = filled {
                    self.on_filled(at, filled);
                },
                Some((at, resource, opened)) = self.attempts.next() => self.on_retry_done(at, &resource, opened),
                _ = retry.tick() => self.on_retry(),
                Ok(()) = self.compacted.changed() => self.on_compacted(),
                () = self.source.changed.notified() => self.on_changed(),
                item = self.feed.next() => match item {
                    Ok(Some(WatchItem::Event(event))) => self.on_event(event),
                    Ok(Some(WatchItem::Progress(revision))) => self.on_progress(revision),
                    Ok(None) => self.on_break(),
                    Err(end) => return end,
                },
            }
        }
    }

    /// Handles installed and retired resources, and first uses of dormant caches. From here on the watch
    /// delivers their changes; earlier changes are in the store and so in their lists.
    fn on_changed(&mut self) {
        let set = self.inner.resources.load();
        let (new, dropped) = self.slots.sync_with(&set, self.inner.options.buffered_changes_max);
        if dropped > 0 {
            // A replacement may have different objects or decode values differently.
            self.seed = None;
        }
        for at in new {
            let dormant = self.slots.get_mut(at).is_some_and(|slot| slot.is_dormant());
            if !self.fill_from_seed(at) && !dormant {
                self.list(at);
            }
        }
        let woken: Vec<u32> =
            self.slots.numbered().filter_map(|(at, slot)| slot.take_wakeup().then_some(at)).collect();
        woken.into_iter().for_each(|at| self.list(at));
    }

    /// Fills a cache from the seed if it contains the resource; returns true if it did.
    fn fill_from_seed(&mut self, at: u32) -> bool {
        let (Some(seed), Some(slot)) = (&self.seed, self.slots.get_mut(at)) else { return false };
        let Some(cache) = slot.cache().cloned() else { return false };
        let Some(state) = seed.state(&slot.resource().config.prefix) else { return false };
        slot.seed(state, Instant::now());
        cache.compacted(*self.compacted.borrow());
        true
    }

    fn on_event(&mut self, event: WatchEvent) {
        let Some(at) = self.slots.find_by_key(&event.kv.key) else {
            if self.seed.as_ref().is_some_and(|seed| seed.covers_key(&event.kv.key, self.inner.prefix.len()))
            {
                // A resource that is not yet installed has changed.
                self.seed = None;
            }
            return;
        };
        let Some(slot) = self.slots.get_mut(at) else { return };
        if slot.push(event, Instant::now) {
            self.changed_slots.push(at);
        }
    }

    /// Handles the end of a batch. The frontier advances after every cache has applied its part.
    fn on_progress(&mut self, revision: Revision) {
        let now = Instant::now();
        for at in self.changed_slots.drain(..) {
            if let Some(slot) = self.slots.get_mut(at) {
                slot.apply(now);
            }
        }
        self.source.frontier.publish(revision);
    }

    /// Discards the incomplete batch; it will be repeated.
    fn on_break(&mut self) {
        for at in self.changed_slots.drain(..) {
            if let Some(slot) = self.slots.get_mut(at) {
                slot.discard();
            }
        }
    }

    fn on_filled(&mut self, at: u32, filled: InitialList) {
        let Some(slot) = self.slots.get_mut(at) else { return };
        if !slot.fill(filled, Instant::now()) {
            return self.list(at);
        }
        if let Some(cache) = slot.cache() {
            cache.compacted(*self.compacted.borrow());
        }
        let prefix = &slot.resource().config.prefix;
        match slot.resource().initial {
            true if self.inner.is_ready() => tracing::info!("the watch cache is filled"),
            true => {}
            false => tracing::debug!(prefix, "an installed resource is cached"),
        }
    }

    fn on_retry(&mut self) {
        let store = &*self.source.store;
        for (at, slot) in self.slots.numbered() {
            let keys = slot.retry_keys();
            if keys.is_empty() {
                continue;
            }
            let resource = Arc::clone(slot.resource());
            self.attempts.push(Box::pin(async move { (at, resource, can_decrypt_any(store, &keys).await) }));
        }
    }

    /// If one value can be decrypted now, others may be, too: the resource is listed again.
    fn on_retry_done(&mut self, at: u32, resource: &Arc<Resource>, opened: bool) {
        let Some(slot) = self.slots.get_mut(at).filter(|slot| Arc::ptr_eq(slot.resource(), resource)) else {
            return;
        };
        slot.undecryptable_mut().finish_retry();
        if opened {
            tracing::info!(prefix = resource.config.prefix, "undecryptable objects can be decrypted again");
            slot.restart_fill();
            self.list(at);
        }
    }

    fn on_compacted(&mut self) {
        let revision = *self.compacted.borrow_and_update();
        for cache in self.slots.iter_mut().filter_map(|slot| slot.cache()) {
            cache.compacted(revision);
        }
    }

    /// Starts to list a resource if it is cached.
    fn list(&mut self, at: u32) {
        let Some(slot) = self.slots.get_mut(at) else { return };
        let Some(cache) = slot.cache().cloned() else { return };
        let resource = Arc::clone(slot.resource());
        let store = &*self.source.store;
        let pages = Arc::clone(&self.pages);
        let (abort, registration) = AbortHandle::new_pair();
        slot.set_list(abort);
        let filled = async move { fill(store, &resource, &cache, &pages).await };
        let filled = Abortable::new(filled, registration);
        self.fills.push(Box::pin(async move { (at, filled.await) }));
    }
}
