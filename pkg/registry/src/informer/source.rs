//! Changes of one resource, from its initial state on, until a change is missed.

use std::sync::Arc;
use std::time::Duration;

use api::resources::Handle;
use cacher::{Error, Event, EventType, Freshness, Watch, WatchStart};
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use tokio::time::sleep;

use super::metrics::{QueuedItem, ResourceMetrics};
use super::{EventState, ObjectChange};
use crate::Registry;

/// First and longest pause after a failure.
const BACKOFF_RANGE: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(5));

pub(super) enum Item {
    /// Object of the initial state, or a later change.
    Change(ObjectChange),
    /// The initial state is complete.
    Complete,
    /// Changes were missed. The last item.
    Gap(String),
}

/// Changes were missed, so the view must start again. The text is for the log.
struct GapError(String);

/// Watch of a resource, resumed after an interruption.
pub(super) struct Source {
    registry: Registry,
    row: Handle,
    watch: Option<Watch>,
    /// Revision up to which everything was delivered; `None` until the initial state is complete.
    delivered_revision: Option<i64>,
    pause: Duration,
    metrics: Arc<ResourceMetrics>,
}

impl Source {
    pub(super) fn new(registry: Registry, row: Handle) -> Self {
        let metrics = registry.informer_metrics().of(row.row());
        Source { registry, row, watch: None, delivered_revision: None, pause: BACKOFF_RANGE.0, metrics }
    }

    /// Returns all items, up to a gap.
    pub(super) fn items(self) -> BoxStream<'static, Item> {
        let items = stream::unfold(Some(self), |source| async move {
            let mut source = source?;
            let item = source.next().await;
            let rest = (!matches!(item, Item::Gap(_))).then_some(source);
            Some((item, rest))
        });
        items.boxed()
    }

    async fn next(&mut self) -> Item {
        loop {
            let Some(watch) = &mut self.watch else {
                match self.open().await {
                    Ok(watch) => self.watch = Some(watch),
                    Err(GapError(reason)) => return Item::Gap(reason),
                }
                continue;
            };
            match watch.next().await {
                Some(Ok(event)) => {
                    self.pause = BACKOFF_RANGE.0;
                    if let Some(item) = self.item(event) {
                        return item;
                    }
                }
                ended => {
                    self.watch = None;
                    let reason = match ended {
                        Some(Err(error)) => reason(&error),
                        _ => "the watch ended".to_owned(),
                    };
                    // The initial state may be incomplete.
                    if self.delivered_revision.is_none() {
                        return Item::Gap(reason);
                    }
                    tracing::debug!(resource = self.row.row().plural, reason, "a view goes on where it was");
                    self.back_off().await;
                }
            }
        }
    }

    /// Opens the watch, with as many attempts as needed.
    ///
    /// # Errors
    /// The reason that it cannot be resumed.
    async fn open(&mut self) -> Result<Watch, GapError> {
        loop {
            let start = match self.delivered_revision {
                None => WatchStart::State(Freshness::NotOlderThan(0)),
                Some(revision) => WatchStart::After(revision),
            };
            match self.registry.watch_internal(self.row.row(), start).await {
                Ok(watch) => return Ok(watch),
                Err(Error::NotReady { .. }) => {
                    let resource = self.registry.resource_of(self.row.row());
                    let resource: Option<Arc<cacher::Resource>> = resource.ok();
                    let filled = async { resource.as_ref()?.ready().await.then_some(()) };
                    if filled.await.is_none() {
                        self.back_off().await;
                    }
                }
                Err(error) if is_gap(&error) && self.delivered_revision.is_some() => {
                    return Err(GapError(reason(&error)));
                }
                Err(error) => {
                    tracing::debug!(
                        resource = self.row.row().plural,
                        reason = reason(&error),
                        "not followed yet"
                    );
                    self.back_off().await;
                }
            }
        }
    }

    /// Pauses with back-off, which ends when an item arrives.
    async fn back_off(&mut self) {
        sleep(self.pause).await;
        self.pause = (self.pause * 2).min(BACKOFF_RANGE.1);
    }

    /// Converts an event to an item.
    fn item(&mut self, event: Event) -> Option<Item> {
        if event.initial_events_end {
            self.delivered_revision = Some(event.revision);
            return Some(Item::Complete);
        }
        // Several objects may have been removed at one revision, and this may not be the last of them.
        let upto = if event.element.is_some() { event.revision - 1 } else { event.revision };
        self.delivered_revision = self.delivered_revision.map(|delivered| delivered.max(upto));
        let previous = event.before().cloned();
        let deleted = event.kind == EventType::Deleted;
        let state = EventState { deleted, previous, store_revision: event.revision };
        let queued = QueuedItem::new(&self.metrics);
        Some(Item::Change(ObjectChange::new(self.row.clone(), event.element?, state, queued)))
    }
}

/// True if the missed changes are no longer available.
fn is_gap(error: &Error) -> bool {
    matches!(
        error,
        Error::TooOld { .. }
            | Error::Storage(storage::Error::Compacted { .. })
            | Error::FutureRevision { .. }
    )
}

fn reason(error: &Error) -> String {
    match error {
        Error::Storage(error) => error.to_string(),
        other => format!("{other:?}"),
    }
}
