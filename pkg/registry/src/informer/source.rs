//! The changes of one resource, from its initial state on, for as long as none is missed.

use std::sync::Arc;
use std::time::Duration;

use api::resources::Handle;
use cacher::{Error, Event, EventType, Freshness, Watch, WatchStart};
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use tokio::time::sleep;

use super::ObjectChange;
use crate::Registry;

/// The first pause after a failure, and the longest one.
const PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(5));

/// What comes from a resource.
pub(super) enum Item {
    /// An object of the initial state, or what happened to one since.
    Change(ObjectChange),
    /// The initial state is complete.
    Complete,
    /// Changes were missed. Nothing comes after it.
    Gap(String),
}

/// A watch of a resource, begun again where it broke off.
pub(super) struct Source {
    registry: Registry,
    row: Handle,
    watch: Option<Watch>,
    /// Up to where everything has been delivered; `None` until the initial state is complete.
    seen: Option<i64>,
    pause: Duration,
}

impl Source {
    pub(super) fn new(registry: Registry, row: Handle) -> Self {
        Source { registry, row, watch: None, seen: None, pause: PAUSES.0 }
    }

    /// All that comes, up to a gap.
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
                    Err(reason) => return Item::Gap(reason),
                }
                continue;
            };
            match watch.next().await {
                Some(Ok(event)) => {
                    self.pause = PAUSES.0;
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
                    // Nobody knows how much of the state has come.
                    if self.seen.is_none() {
                        return Item::Gap(reason);
                    }
                    tracing::debug!(resource = self.row.row().plural, reason, "a view goes on where it was");
                    self.rest().await;
                }
            }
        }
    }

    /// Opens the watch, however often it takes.
    ///
    /// # Errors
    /// Why it cannot go on where it was.
    async fn open(&mut self) -> Result<Watch, String> {
        loop {
            let start = match self.seen {
                None => WatchStart::State(Freshness::NotOlderThan(0)),
                Some(revision) => WatchStart::After(revision),
            };
            match self.registry.follow(self.row.row(), start).await {
                Ok(watch) => return Ok(watch),
                Err(Error::NotReady { .. }) => {
                    let resource = self.registry.resource_of(self.row.row());
                    let resource: Option<Arc<cacher::Resource>> = resource.ok();
                    let filled = async { resource.as_ref()?.ready().await.then_some(()) };
                    if filled.await.is_none() {
                        self.rest().await;
                    }
                }
                Err(error) if is_gap(&error) && self.seen.is_some() => return Err(reason(&error)),
                Err(error) => {
                    tracing::debug!(
                        resource = self.row.row().plural,
                        reason = reason(&error),
                        "not followed yet"
                    );
                    self.rest().await;
                }
            }
        }
    }

    /// Pauses, longer each time until something comes.
    async fn rest(&mut self) {
        sleep(self.pause).await;
        self.pause = (self.pause * 2).min(PAUSES.1);
    }

    /// What an event is for a view.
    fn item(&mut self, event: Event) -> Option<Item> {
        if event.initial_events_end {
            self.seen = Some(event.revision);
            return Some(Item::Complete);
        }
        // Several objects may have gone at one revision, and this may not be the last of them.
        let upto = if event.element.is_some() { event.revision - 1 } else { event.revision };
        self.seen = self.seen.map(|seen| seen.max(upto));
        let gone = event.kind == EventType::Deleted;
        Some(Item::Change(ObjectChange::new(self.row.clone(), event.element?, gone)))
    }
}

/// Whether an error says that changes are not to be had any more.
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
