//! Deliberate bugs that the checks must find.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Mutex;
use std::task::{Context, Poll, ready};

use cacher::{Error, Event, EventType, Watch};
use futures::Stream;
use storage::WatchItem;

use super::random::Random;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bug {
    MissingEvent,
    /// A watch delivers an event twice.
    RepeatedEvent,
    /// A watch delivers two events in the wrong order.
    SwappedEvents,
    /// Deletions have the revision of the deleted object.
    RevisionOfDeleted,
    /// Bookmarks exceed the delivered revision.
    EarlyBookmark,
    /// A watch stops delivering.
    LostWakeUp,
    MissingChange,
    /// The cache's frontier exceeds its state.
    EarlyProgress,
    /// Consistent reads miss the latest writes.
    OldReadIndex,
    /// Installed resources are listed at an old revision.
    OldFill,
}

impl Bug {
    pub const ALL: [Bug; 10] = [
        Bug::MissingEvent,
        Bug::RepeatedEvent,
        Bug::SwappedEvents,
        Bug::RevisionOfDeleted,
        Bug::EarlyBookmark,
        Bug::LostWakeUp,
        Bug::MissingChange,
        Bug::EarlyProgress,
        Bug::OldReadIndex,
        Bug::OldFill,
    ];
}

/// A watch with an optional bug.
pub struct Tampered {
    watch: Watch,
    bug: Option<Bug>,
    /// Number of events until the bug occurs.
    until: u64,
    /// Events to deliver next.
    queue: VecDeque<Event>,
    held: Option<Event>,
}

impl Tampered {
    /// A watch whose bug occurs at one of the first events.
    pub fn new(watch: Watch, bug: Option<Bug>, random: &mut Random) -> Self {
        Tampered { watch, bug, until: 1 + random.below(15), queue: VecDeque::new(), held: None }
    }

    fn tamper(&mut self, mut event: Event) {
        let bookmark = event.kind == EventType::Bookmark;
        self.until = self.until.saturating_sub(u64::from(!bookmark));
        let strikes = self.until == 0 && !bookmark;
        match self.bug {
            Some(Bug::MissingEvent) if strikes => self.bug = None,
            Some(Bug::RepeatedEvent) if strikes => {
                self.bug = None;
                self.queue.extend([event.clone(), event]);
            }
            Some(Bug::SwappedEvents) if strikes => match self.held.take() {
                None => self.held = Some(event),
                Some(delayed) => {
                    self.bug = None;
                    self.queue.extend([event, delayed]);
                }
            },
            Some(Bug::RevisionOfDeleted) if event.kind == EventType::Deleted => {
                event.revision = event.element.as_ref().map_or(0, |element| element.revision());
                self.queue.push_back(event);
            }
            Some(Bug::EarlyBookmark) if bookmark && !event.initial_events_end => {
                event.revision += 1;
                self.queue.push_back(event);
            }
            _ => self.queue.push_back(event),
        }
    }
}

impl Stream for Tampered {
    type Item = Result<Event, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(event) = self.queue.pop_front() {
                return Poll::Ready(Some(Ok(event)));
            }
            if self.bug == Some(Bug::LostWakeUp) && self.until == 0 {
                return Poll::Pending;
            }
            match ready!(Pin::new(&mut self.watch).poll_next(cx)) {
                Some(Ok(event)) => self.tamper(event),
                other => return Poll::Ready(other),
            }
        }
    }
}

/// A bug between the store and the cache.
pub struct StoredEvents {
    bug: Option<Bug>,
    /// Number of changes until one is lost.
    until: Mutex<u64>,
}

impl StoredEvents {
    /// The bug occurs once the caches are in use.
    pub fn new(bug: Option<Bug>, mut random: Random) -> Self {
        StoredEvents { bug, until: Mutex::new(50 + random.below(100)) }
    }

    /// The items to deliver instead of this item.
    pub fn tamper(&self, item: WatchItem) -> Vec<WatchItem> {
        match (self.bug, item) {
            (Some(Bug::MissingChange), WatchItem::Event(event)) => {
                let mut until = self.until.lock().unwrap();
                *until = until.saturating_sub(1);
                if *until == 1 { Vec::new() } else { vec![WatchItem::Event(event)] }
            }
            (Some(Bug::EarlyProgress), WatchItem::Event(event)) => {
                vec![WatchItem::Progress(event.kv.mod_revision), WatchItem::Event(event)]
            }
            (_, item) => vec![item],
        }
    }
}
