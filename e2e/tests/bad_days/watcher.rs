//! A client that keeps up with a part of the cluster, as client-go's reflector does: it lists, or has
//! the state sent to it, watches from there, goes on from its last revision when a watch ends, and
//! starts anew when it is told that this revision is gone. It notes all it is told.

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

/// Before a request is made again that failed.
const PAUSE: Duration = Duration::from_millis(250);
const END_OF_STATE: &str = "k8s.io/initial-events-end";

/// From one state to the next.
#[derive(Debug, Default)]
pub(crate) struct Segment {
    /// The revision of the state.
    pub(crate) start: i64,
    /// What was there, each with the revision of its last change.
    pub(crate) state: BTreeMap<Object, i64>,
    pub(crate) events: Vec<Event>,
}

/// What a watcher was told.
#[derive(Debug, Default)]
pub(crate) struct WatchLog {
    pub(crate) segments: Vec<Segment>,
    /// The revision to go on from, unless it is gone.
    last: i64,
    /// Watches that ended, however they did.
    pub(crate) ends: usize,
    /// What no server may do.
    pub(crate) wrongs: Vec<String>,
}

/// How a watcher comes by its state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// By a list.
    Listed,
    /// By a watch that sends it first.
    Streamed,
}

pub(crate) struct Watcher {
    pub(crate) scope: Scope,
    pub(crate) style: Style,
    pub(crate) link: Arc<Link>,
    /// It reads nothing of a watch before this is true.
    pub(crate) reads: watch::Receiver<bool>,
    /// Grows with everything that any watcher is told.
    pub(crate) tally: watch::Sender<u64>,
    notes: Mutex<WatchLog>,
}

/// Why a watch is over.
enum End {
    /// It can go on from the last revision.
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

    /// The revision that it knows of: that of its state, or of the last it was told.
    pub(crate) fn last(&self) -> i64 {
        self.notes().last
    }

    /// Whether its state is complete.
    pub(crate) fn has_state(&self) -> bool {
        !self.notes().segments.is_empty()
    }

    /// Follows its scope for ever.
    pub(crate) async fn follow(&self) {
        // Nothing is known at first, so any state will do.
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
                // As new as the present, for the past must not come back.
                freshness = "";
            }
            sleep(PAUSE).await;
        }
    }

    async fn list(&self, freshness: &str) -> Result<(), Broken> {
        let path = format!("{}&resourceVersion={freshness}", self.scope.path());
        let answer = self.link.send("GET", &path, "").await?;
        if answer.code != 200 {
            self.refused(answer.code, &answer.document());
            return Err(Broken);
        }
        let list = answer.document();
        let found = list.items.iter().map(|item| &item.metadata);
        let state = found
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

    /// Has the state sent, and what comes after it.
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

    /// One watch. `state` is what was sent of the state so far, while it is not complete.
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
            if let Some(end) = self.told(frame, &mut state) {
                return end;
            }
        }
        self.notes().ends += 1;
        End::Broken
    }

    /// Notes what a frame says; the end if it says so.
    fn told(&self, frame: Frame, state: &mut Option<BTreeMap<Object, i64>>) -> Option<End> {
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
        // Not filled, too late, overloaded: all else is no answer to a client that may ask.
        if !matches!(code, 429 | 500 | 503 | 504) || status.kind != "Status" {
            self.notes().wrongs.push(format!("{code} {}", status.message));
        }
    }
}

/// The next line, without its end; `None` when there is none.
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
