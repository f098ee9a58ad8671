//! Watches: start position and errors.

mod converted;

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use api::options::ListOptions;
use api::resources::Resource;
use apimachinery::gvk::GroupResource;
use apimachinery::status::Status;
use cacher::{Event, Freshness, Predicate, Progress, Watch, WatchQuery, WatchStart};
use futures::{Stream, StreamExt};
use tokio::time::Instant;

use super::filter::{self, Selection};
use super::{Registry, Result, Target, error};
use converted::ConvertedEvents;

/// Item of a client's watch.
#[derive(Debug)]
pub enum WatchEvent {
    /// An event or a bookmark.
    Event(Event),
    /// The watch failed and has ended.
    Error(Box<Status>),
}

/// Events in order, until an `Error` or until this is dropped. After an end without an error, the client
/// resumes from its last event.
pub struct WatchEvents {
    resource: GroupResource,
    /// True to mark the end of the initial events.
    with_end_bookmark: bool,
    state: State,
}

#[allow(clippy::large_enum_variant, reason = "nearly every watch is running")]
enum State {
    Running(Watch),
    Converted(ConvertedEvents),
    Failed(Box<Status>),
    Ended,
}

impl Registry {
    /// Starts a watch, which ends at `deadline`. `options` are defaulted and validated.
    ///
    /// # Errors
    /// Only errors that must be an HTTP error: an invalid version or shard selector (500, upstream does not
    /// map it), and a cache that is not filled yet (429). For a version that is too old or too new, the first
    /// event is an error.
    pub async fn watch(
        &self,
        target: &Target<'_>,
        options: &ListOptions,
        deadline: Instant,
    ) -> Result<WatchEvents> {
        let storage = self.storage_of(target, "watch")?;
        let stored = self.stored(storage)?;
        let Selection { scope, predicate } =
            filter::of(target, &stored, options, false, self.shards(options)?);
        stored.check(storage, &scope.prefix)?;
        let conversion = self.conversion(target.resource, storage)?;
        let (store_predicate, selected) = match &conversion {
            Some(conversion) if !conversion.is_to_storage() => (Predicate::default(), predicate),
            _ => (predicate, Predicate::default()),
        };
        let query = WatchQuery {
            scope,
            start: start(options)?,
            predicate: store_predicate,
            bookmarks: options.allow_watch_bookmarks,
            deadline,
        };
        let state = match self.delegator.watch(&stored.resource, query).await {
            Ok(events) => match conversion {
                None => State::Running(events),
                Some(conversion) => State::Converted(ConvertedEvents::new(
                    events,
                    conversion,
                    selected,
                    target.group_resource(),
                )),
            },
            Err(e @ cacher::Error::NotReady { .. }) => {
                return Err(error::read(&target.group_resource(), "watch", e));
            }
            Err(e) => State::Failed(failed(&target.group_resource(), e)),
        };
        let with_end_bookmark = options.send_initial_events == Some(true);
        Ok(WatchEvents { resource: target.group_resource(), with_end_bookmark, state })
    }
}

impl Registry {
    /// Watches all objects of a resource: see [`cacher::Delegator::watch_internal`].
    ///
    /// # Errors
    /// As [`cacher::Delegator::watch_internal`].
    pub(crate) async fn watch_internal(
        &self,
        row: &Resource<'_>,
        start: WatchStart,
    ) -> std::result::Result<Watch, cacher::Error> {
        let resource = self
            .resource_of(row)
            .map_err(|status| cacher::Error::Storage(storage::Error::Internal(status.message)))?;
        self.delegator.watch_internal(&resource, start).await
    }

    /// Returns the delegator's resource of a row.
    ///
    /// # Errors
    /// 405 for a resource that is not stored, 500 for one that the delegator does not have.
    pub(crate) fn resource_of(&self, row: &Resource<'_>) -> Result<Arc<cacher::Resource>> {
        let storage = self.storage_of(&Target { resource: row, namespace: "", name: "" }, "watch")?;
        Ok(Arc::clone(&self.stored(storage)?.resource))
    }
}

impl WatchEvents {
    /// Returns the progress of the watch for monitoring; `None` for a watch without a cache, or one that has
    /// ended.
    pub fn progress(&mut self) -> Option<Progress> {
        match &mut self.state {
            State::Running(events) => events.progress(),
            State::Converted(events) => events.progress(),
            State::Failed(_) | State::Ended => None,
        }
    }

    /// True if the initial state was delivered or was not requested.
    pub fn is_current(&self) -> bool {
        match &self.state {
            State::Running(events) => events.is_current(),
            State::Converted(events) => events.is_current(),
            State::Failed(_) => false,
            State::Ended => true,
        }
    }
}

impl Stream for WatchEvents {
    type Item = WatchEvent;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<WatchEvent>> {
        let this = &mut *self;
        let next = match &mut this.state {
            State::Running(events) => loop {
                match ready!(events.poll_next_unpin(cx)) {
                    Some(Ok(event)) if event.initial_events_end && !this.with_end_bookmark => {}
                    Some(Ok(event)) => return Poll::Ready(Some(WatchEvent::Event(event))),
                    Some(Err(e)) => break Some(WatchEvent::Error(failed(&this.resource, e))),
                    None => break None,
                }
            },
            State::Converted(events) => loop {
                match ready!(events.poll_next_unpin(cx)) {
                    Some(WatchEvent::Event(event)) if event.initial_events_end && !this.with_end_bookmark => {
                    }
                    Some(WatchEvent::Event(event)) => return Poll::Ready(Some(WatchEvent::Event(event))),
                    over => break over,
                }
            },
            State::Failed(_) => match std::mem::replace(&mut this.state, State::Ended) {
                State::Failed(status) => Some(WatchEvent::Error(status)),
                _ => None,
            },
            State::Ended => None,
        };
        this.state = State::Ended;
        Poll::Ready(next)
    }
}

/// Returns the start of a watch (upstream's `storage/cacher` watch table).
fn start(options: &ListOptions) -> Result<WatchStart> {
    let parsed = super::revision(&options.resource_version).map_err(|e| Status::unmapped(e.to_string()))?;
    let freshness = match options.resource_version.as_str() {
        "" => Freshness::Consistent,
        _ => Freshness::NotOlderThan(parsed),
    };
    Ok(match (options.send_initial_events, parsed) {
        // The old watch paths have no defaults; there, no version has always meant this.
        (Some(true), _) | (None, 0) => WatchStart::State(freshness),
        _ => WatchStart::After(parsed),
    })
}

/// Returns the Status of the ERROR event that ends a watch.
fn failed(resource: &GroupResource, error: cacher::Error) -> Box<Status> {
    match error {
        cacher::Error::Storage(storage::Error::Compacted { .. }) => {
            Status::expired("The resourceVersion for the provided watch is too old.").into()
        }
        cacher::Error::Storage(storage::Error::Internal(message)) => Status::internal_error(message).into(),
        other => error::read(resource, "watch", other),
    }
}
