//! Watches: where they start and what their failures look like.

use api::options::ListOptions;
use apimachinery::status::Status;
use cacher::{EventType, Freshness, WatchQuery, WatchStart};
use futures::StreamExt;
use futures::stream::BoxStream;
use tokio::time::Instant;

use super::{Registry, Result, Target, error, filter};
use crate::Stored;

/// What a client's watch delivers.
pub enum WatchEvent {
    /// An object changed.
    Object {
        /// What happened; never a bookmark.
        kind: EventType,
        /// The object.
        stored: Stored,
    },
    /// Nothing happened up to a revision.
    Bookmark {
        /// The revision.
        revision: i64,
        /// The initial state is complete.
        initial_events_end: bool,
    },
    /// The watch failed and is over.
    Error(Box<Status>),
}

/// Events in order, ended by an `Error` or by dropping it.
pub type WatchEvents = BoxStream<'static, WatchEvent>;

impl Registry {
    /// Starts a watch. `options` have passed defaulting and validation; `deadline` is when the caller
    /// will end it.
    ///
    /// # Errors
    /// Only what must be an HTTP error: a malformed version (500, upstream does not map it). A version
    /// that is too old or too new is the first event instead.
    pub async fn watch(
        &self,
        target: &Target<'_>,
        options: &ListOptions,
        deadline: Instant,
    ) -> Result<WatchEvents> {
        let storage = self.storage_of(target, "watch")?;
        let namespace = filter::namespace_of(target, options);
        let mut prefix = self.key_prefix(storage, &namespace);
        let name = filter::name_of(options).filter(|_| !target.row.namespaced || !namespace.is_empty());
        let exact = name.is_some();
        prefix.push_str(name.unwrap_or(""));
        let query = WatchQuery {
            prefix,
            exact,
            start: start(options)?,
            filter: filter::of(target.row, options),
            bookmarks: options.allow_watch_bookmarks,
            deadline,
        };
        let resource = target.group_resource();
        let events = match self.delegator.watch(query).await {
            Ok(events) => events,
            Err(e) => return Ok(futures::stream::once(async move { failed(&resource, e) }).boxed()),
        };
        Ok(events
            .map(move |event| match event {
                Ok(event) => match event.object {
                    Some(kv) => WatchEvent::Object {
                        kind: event.kind,
                        stored: Stored { key: kv.key, value: kv.value, revision: event.revision },
                    },
                    None => WatchEvent::Bookmark {
                        revision: event.revision,
                        initial_events_end: event.initial_events_end,
                    },
                },
                Err(e) => failed(&resource, e),
            })
            .boxed())
    }
}

/// Where a watch starts (upstream's `storage/cacher` watch table).
fn start(options: &ListOptions) -> Result<WatchStart> {
    let parsed = super::revision(&options.resource_version).map_err(|e| Status::unmapped(e.to_string()))?;
    let freshness = match options.resource_version.as_str() {
        "" => Freshness::Consistent,
        _ => Freshness::NotOlderThan(parsed),
    };
    Ok(match options.send_initial_events {
        Some(true) => WatchStart::State(freshness),
        _ => WatchStart::After(parsed),
    })
}

/// The ERROR event that ends a watch.
fn failed(resource: &apimachinery::gvk::GroupResource, error: cacher::Error) -> WatchEvent {
    let status = match error {
        cacher::Error::Storage(storage::Error::Compacted { .. }) => {
            Status::expired("The resourceVersion for the provided watch is too old.").into()
        }
        cacher::Error::Storage(storage::Error::Internal(message)) => Status::internal_error(message).into(),
        other => error::read(resource, "watch", other),
    };
    WatchEvent::Error(status)
}
