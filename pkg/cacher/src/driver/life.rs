//! One life of the caches: from an empty start to the gap in the watch that ends it.

use std::sync::Arc;

use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use storage::{Error, Revision, WatchEvent, WatchItem};
use tokio::sync::{Semaphore, watch};
use tokio::task::coop::consume_budget;
use tokio::time::Instant;

use super::feed::{End, Feed};
use super::fill::{Filled, fill};
use super::slot::{Index, Slot};
use crate::delegator::Inner;

type Fills<'a> = FuturesUnordered<BoxFuture<'a, (usize, Filled)>>;

/// The caches between two gaps.
pub(super) struct Life<'a> {
    inner: &'a Inner,
    feed: Feed<'a>,
    slots: Vec<Slot<'a>>,
    index: Index,
    /// Slots with changes in the batch that is coming in.
    touched: Vec<usize>,
    fills: Fills<'a>,
    pages: Arc<Semaphore>,
    compacted: watch::Receiver<Revision>,
}

impl<'a> Life<'a> {
    /// Opens the watch and begins to list every resource.
    pub(super) async fn begin(inner: &'a Inner) -> Result<Self, Error> {
        let start = inner.store.current_revision().await?;
        let feed = Feed::open(&*inner.store, &inner.prefix, start).await?;
        // No cache is ready, and each will be listed at this revision or a later one.
        inner.frontier.publish(start);
        let resources = || inner.resources.values();
        let mut life = Life {
            inner,
            feed,
            slots: resources().map(|resource| Slot::new(resource, inner.options.held_back_max)).collect(),
            index: Index::new(&inner.prefix, resources().map(|resource| &*resource.config.prefix)),
            touched: Vec::new(),
            fills: Fills::new(),
            pages: Arc::new(Semaphore::new(inner.options.fills_max.max(1))),
            compacted: inner.store.compacted(),
        };
        for at in 0..life.slots.len() {
            life.list(at);
        }
        Ok(life)
    }

    /// Lives.
    pub(super) async fn run(&mut self) -> End {
        loop {
            consume_budget().await;
            // In a fixed order, so that the same course of events has the same outcome; what is rare
            // comes first.
            tokio::select! {
                biased;
                Some((at, filled)) = self.fills.next() => self.on_filled(at, filled),
                Ok(()) = self.compacted.changed() => self.on_compacted(),
                item = self.feed.next() => match item {
                    Ok(Some(WatchItem::Event(event))) => self.on_event(event),
                    Ok(Some(WatchItem::Progress(revision))) => self.on_progress(revision),
                    Ok(None) => self.on_break(),
                    Err(end) => return end,
                },
            }
        }
    }

    fn on_event(&mut self, event: WatchEvent) {
        let Some(at) = self.index.slot(&event.kv.key) else { return };
        let Some(slot) = self.slots.get_mut(at) else { return };
        if slot.take(event) {
            self.touched.push(at);
        }
    }

    /// The batch is complete. The frontier moves when every cache has its part.
    fn on_progress(&mut self, revision: Revision) {
        let now = Instant::now();
        for at in self.touched.drain(..) {
            if let Some(slot) = self.slots.get_mut(at) {
                slot.apply(now);
            }
        }
        self.inner.frontier.publish(revision);
    }

    /// The batch will come again.
    fn on_break(&mut self) {
        for at in self.touched.drain(..) {
            if let Some(slot) = self.slots.get_mut(at) {
                slot.discard();
            }
        }
    }

    fn on_filled(&mut self, at: usize, filled: Filled) {
        let Some(slot) = self.slots.get_mut(at) else { return };
        if slot.fill(filled, Instant::now()) {
            if let Some((_, cache)) = slot.cached() {
                cache.compacted(*self.compacted.borrow());
            }
            self.inner.unready.send_modify(|unready| *unready = unready.saturating_sub(1));
            if *self.inner.unready.borrow() == 0 {
                tracing::info!(resources = self.inner.cached().count(), "the watch cache is filled");
            }
        } else {
            self.list(at);
        }
    }

    fn on_compacted(&mut self) {
        let revision = *self.compacted.borrow_and_update();
        for (_, cache) in self.inner.cached() {
            cache.compacted(revision);
        }
    }

    /// Begins to list a resource, if it is one that is cached.
    fn list(&mut self, at: usize) {
        let Some((resource, cache)) = self.slots.get(at).and_then(Slot::cached) else { return };
        let (store, pages) = (&*self.inner.store, Arc::clone(&self.pages));
        self.fills.push(Box::pin(async move { (at, fill(store, resource, cache, &pages).await) }));
    }
}
