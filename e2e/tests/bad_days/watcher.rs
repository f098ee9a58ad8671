//! A client that follows a scope like client-go's reflector. It lists, or streams the state, and watches from
//! there. When a watch ends it continues from its last revision, and starts over if that revision is gone. It
//! records everything it receives.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::Incoming;
use serde::Deserialize;
use tokio::sync::watch;
use tokio::time::sleep;

use super::link::{Broken, Document, Link};
use super::objects::{Event, Kind, Object, Scope};

/// Pause before a failed request is retried.
const PAUSE: Duration = Duration::from_millis(250);
const END_OF_STATE: &str = "k8s.io/initial-events-end";

/// A state and the events up to the next state.
#[derive(Debug, Default)]
pub(crate) struct Segment {
    /// Revision of the state.
    pub(crate) start: i64,
    /// Objects of the state, with the revisions of their last changes.
    pub(crate) state: BTreeMap<Object, i64>,
    pub(crate) events: Vec<Event>,
}

/// Observations of a watcher.
#[derive(Debug, Default)]
pub(crate) struct WatchLog {
    pub(crate) segments: Vec<Segment>,
    /// Revision to continue from, unless it is gone.
    last: i64,
    /// Number of ended watches.
    pub(crate) ends: usize,
    /// Violations that no server may cause.
    pub(crate) wrongs: Vec<String>,
}

/// Source of the initial state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    Listed,
    /// A streaming list (watch list).
    Streamed,
}

pub(crate) struct Watcher {
    pub(crate) scope: Scope,
    pub(crate) style: Style,
    pub(crate) link: Arc<Link>,
    /// The watcher reads its watches only after this is true.
    pub(crate) reads: watch::Receiver<bool>,
    /// Counter of everything that watchers receive.
    pub(crate) tally: watch::Sender<u64>,
    notes: Mutex<WatchLog>,
}

/// End of a watch.
enum End {
    /// It can continue from the last revision.
    Broken,
    /// The last revision is gone.
    Gone,
}

#[derive(Deserialize)]
struct Frame {
    r#type: String,
    object: Document,
}

impl Watcher {
    pub(crate) fn new(
        scope: Scope,
        style: Style,
        link: Arc<Link>,
        reads: watch::Receiver<bool>,
        tally: watch::Sender<u64>,
    ) -> Self {
        Watcher { scope, style, link, reads, tally, notes: Mutex::default() }
    }

    pub(crate) fn notes(&self) -> MutexGuard<'_, WatchLog> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the last revision of its state or events.
    pub(crate) fn last(&self) -> i64 {
        self.notes().last
    }

    /// Returns true if its state is complete.
    pub(crate) fn has_state(&self) -> bool {
        !self.notes().segments.is_empty()
    }

    /// Follows the scope forever.
    pub(crate) async fn follow(&self) {
        // The first state may have any revision.
        let mut freshness = "0";
        loop {
            let end = match self.style {
                Style::Listed => match self.list(freshness).await {
                    Ok(()) => self.watch_on().await,
                    Err(Broken) => End::Broken,
                },
                Style::Streamed => self.stream_state(freshness).await,
            };
            let end = match end {
                End::Broken if self.has_state() => self.watch_on().await,
                end => end,
            };
            if matches!(end, End::Gone) {
                // A consistent state, so that the revision never goes back.
                freshness = "";
            }
            sleep(PAUSE).await;
        }
    }

    async fn list(&self, freshness: &str) -> Result<(), Broken> {
        let path = format!("{}&resourceVersion={freshness}", self.scope.path());
        let response = self.link.send("GET", &path, "").await?;
        if response.code != 200 {
            self.refused(response.code, &response.document());
            return Err(Broken);
        }
        let list = response.document();
        let metadata_list = list.items.iter().map(|item| &item.metadata);
        let state = metadata_list
            .filter_map(|metadata| Some((Object::parse(&metadata.name)?, metadata.revision())))
            .collect();
        self.begin(list.metadata.revision(), state);
        Ok(())
    }

    fn begin(&self, start: i64, state: BTreeMap<Object, i64>) {
        let mut notes = self.notes();
        if start < notes.last {
            let wrong = format!("a state of {start} after {}", notes.last);
            notes.wrongs.push(wrong);
        }
        notes.last = start;
        notes.segments.push(Segment { start, state, events: Vec::new() });
        drop(notes);
        self.tally.send_modify(|tally| *tally += 1);
    }

    /// Streams the state and the following events.
    async fn stream_state(&self, freshness: &str) -> End {
        let query =
            format!("&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion={freshness}");
        self.watch(&query, Some(BTreeMap::new())).await
    }

    /// Watches from the last revision until it is gone.
    async fn watch_on(&self) -> End {
        loop {
            let query = format!("&resourceVersion={}", self.last());
            if let End::Gone = self.watch(&query, None).await {
                return End::Gone;
            }
            sleep(PAUSE).await;
        }
    }

    /// Runs one watch. `state` is the incomplete streamed state, if any.
    async fn watch(&self, query: &str, mut state: Option<BTreeMap<Object, i64>>) -> End {
        let path = format!("{}&watch=1&allowWatchBookmarks=true{query}", self.scope.path());
        let Ok(response) = self.link.open("GET", &path, "").await else { return End::Broken };
        let code = response.status().as_u16();
        let mut body = response.into_body();
        if code != 200 {
            let Ok(body) = body.collect().await else { return End::Broken };
            let status = serde_json::from_slice(&body.to_bytes()).unwrap_or_default();
            self.refused(code, &status);
            return End::Broken;
        }
        let _ = self.reads.clone().wait_for(|reads| *reads).await;
        let mut read = Vec::new();
        while let Some(line) = next_line(&mut body, &mut read).await {
            let frame: Frame = serde_json::from_slice(&line)
                .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&line)));
            if let Some(end) = self.receive(frame, &mut state) {
                return end;
            }
        }
        self.notes().ends += 1;
        End::Broken
    }

    /// Processes a frame. Returns the end of the watch, if the frame signals it.
    fn receive(&self, frame: Frame, state: &mut Option<BTreeMap<Object, i64>>) -> Option<End> {
        let metadata = &frame.object.metadata;
        let object = Object::parse(&metadata.name);
        let kind = match &*frame.r#type {
            "ADDED" => Kind::Added,
            "MODIFIED" => Kind::Modified,
            "DELETED" => Kind::Deleted,
            "BOOKMARK" => {
                if metadata.annotations.contains_key(END_OF_STATE) {
                    self.begin(metadata.revision(), state.take().unwrap_or_default());
                } else {
                    self.moved_to(metadata.revision());
                }
                return None;
            }
            _ => {
                let mut notes = self.notes();
                notes.ends += 1;
                if frame.object.code == 410 {
                    return Some(End::Gone);
                }
                notes.wrongs.push(format!("{} {}", frame.r#type, frame.object.message));
                return Some(End::Broken);
            }
        };
        let revision = metadata.revision();
        if let Some(state) = state {
            if let Some(object) = object {
                state.insert(object, revision);
            }
            return None;
        }
        if let (Some(object), Some(segment)) = (object, self.notes().segments.last_mut()) {
            segment.events.push(Event { kind, object, revision });
        }
        self.moved_to(revision);
        None
    }

    fn moved_to(&self, revision: i64) {
        let mut notes = self.notes();
        if revision < notes.last {
            let wrong = format!("{revision} after {}", notes.last);
            notes.wrongs.push(wrong);
        }
        notes.last = revision;
        drop(notes);
        self.tally.send_modify(|tally| *tally += 1);
    }

    fn refused(&self, code: u16, status: &Document) {
        // Not initialized, too late or overloaded; any other error is wrong for a valid client request.
        if !matches!(code, 429 | 500 | 503 | 504) || status.kind != "Status" {
            self.notes().wrongs.push(format!("{code} {}", status.message));
        }
    }
}

/// Returns the next line, without its line end; `None` at the end.
async fn next_line(body: &mut Incoming, read: &mut Vec<u8>) -> Option<Vec<u8>> {
    loop {
        if let Some(at) = memchr::memchr(b'\n', read) {
            let rest = read.split_off(at + 1);
            return Some(std::mem::replace(read, rest));
        }
        let frame = body.frame().await?.ok()?;
        read.extend_from_slice(&frame.into_data().unwrap_or_default());
    }
}
