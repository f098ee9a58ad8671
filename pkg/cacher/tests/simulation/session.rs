//! Checks the events of one watch against the history: they must be exactly its view of it.
//!
//! A client learns the revision of its watch's initial state only at the end of that state, and never without
//! bookmarks. So the check starts with all possible revisions and drops those that do not fit the events. If
//! none is left, the watch is wrong.

use std::collections::VecDeque;
use std::ops::RangeInclusive;

use cacher::{Event, EventType};
use storage::Revision;

use super::history::{Change, History, Object};
use super::kinds::View;

/// The text of a mismatch, if there is one.
pub type Checked = Result<(), String>;

/// Start of a watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begin {
    /// With the state at one of the possible revisions.
    State,
    /// With the changes after one of the revisions.
    Changes,
}

/// The check of one watch.
pub struct Session {
    view: View,
    bookmarks: bool,
    /// True if the client has received the end of the initial state.
    initialized: bool,
    /// The last revision delivered since then.
    last: Revision,
    candidates: Vec<Candidate>,
}

/// A possible start: all of these revisions look the same to the view.
#[derive(Debug)]
struct Candidate {
    at: RangeInclusive<Revision>,
    initial: VecDeque<Object>,
    /// The index of the next change.
    next: usize,
}

type Expected<'a> = (EventType, &'a Object, Revision);

impl Candidate {
    fn expected<'a>(&'a self, view: &View, history: &'a History) -> Option<(Expected<'a>, usize)> {
        if let Some(object) = self.initial.front() {
            return Some(((EventType::Added, object, object.revision), self.next));
        }
        // A watch may start after a future revision.
        let mut changes = history.changes().iter().enumerate().skip(self.next);
        changes.find_map(|(at, change)| {
            let event = view.event(change).filter(|_| change.revision > *self.at.start());
            Some((event?, at + 1))
        })
    }

    /// Returns true and advances if the event is the expected one.
    fn accepts(&mut self, event: &Event, view: &View, history: &History) -> bool {
        let Some((expected, next)) = self.expected(view, history) else { return false };
        if !same(event, &expected) {
            return false;
        }
        self.initial.pop_front();
        self.next = next;
        true
    }

    /// True if everything up to the revision has been delivered.
    fn is_complete(&self, upto: Revision, view: &View, history: &History) -> bool {
        self.initial.is_empty()
            && self.expected(view, history).is_none_or(|((_, _, revision), _)| revision > upto)
    }
}

fn same(event: &Event, (kind, object, revision): &Expected<'_>) -> bool {
    let element = event.element.as_ref().is_some_and(|element| is(element, object));
    element && event.kind == *kind && event.revision == *revision
}

pub fn is(element: &cacher::Element, object: &Object) -> bool {
    element.key() == &*object.key
        && element.revision() == object.revision
        && element.value().is_ok_and(|value| *value == object.value)
}

impl Session {
    /// The check of a watch that starts at one of the revisions. It reads changes from `read` on, which is
    /// earlier if it starts after a revision that the cache has not reached.
    pub fn new(
        view: &View,
        begin: Begin,
        bookmarks: bool,
        at: RangeInclusive<Revision>,
        read: Revision,
        history: &History,
    ) -> Self {
        let (mut from, to) = at.into_inner();
        let to = to.max(from);
        let mut candidates = Vec::new();
        let changes = history.changes().get(history.after(from)..).unwrap_or_default();
        let visible = changes.iter().filter(|change| view.event(change).is_some());
        let ends = visible.map(|change| change.revision - 1).filter(|end| *end < to);
        for end in ends.chain([to]) {
            // A watch cannot start between changes of one revision.
            if end >= from {
                let state = || history.state_at(from, view).into_iter().cloned().collect();
                let initial = if begin == Begin::State { state() } else { VecDeque::new() };
                candidates.push(Candidate { at: from..=end, initial, next: history.after(from.min(read)) });
                from = end + 1;
            }
        }
        let initialized = begin == Begin::Changes;
        let last = candidates.first().map_or(0, |first| *first.at.start());
        Session { view: view.clone(), bookmarks, initialized, last, candidates }
    }

    /// Checks the next event.
    ///
    /// # Errors
    /// The mismatch.
    pub fn accept(&mut self, event: &Event, history: &History) -> Checked {
        let before = self.describe(history);
        let problem = match event.kind {
            EventType::Bookmark => self.accept_bookmark(event, history),
            _ => self.accept_object(event, history),
        };
        problem.map_err(|problem| format!("{problem}\n  got      {}\n  expected {before}", show(event)))
    }

    fn accept_bookmark(&mut self, event: &Event, history: &History) -> Result<(), &'static str> {
        let revision = event.revision;
        if !self.bookmarks {
            return Err("an unrequested bookmark");
        }
        if event.initial_events_end == self.initialized {
            return Err(if self.initialized {
                "a second end of the state"
            } else {
                "a bookmark within the state"
            });
        }
        if revision > history.revision() {
            return Err("a bookmark from the future");
        }
        if self.initialized && revision < self.last {
            return Err("a bookmark that goes back");
        }
        let view = &self.view;
        let initialized = self.initialized;
        self.candidates.retain_mut(|candidate| {
            let fits = initialized || candidate.at.contains(&revision);
            fits && candidate.is_complete(revision, view, history)
        });
        (self.initialized, self.last) = (true, revision);
        if self.candidates.is_empty() { Err("a bookmark ahead of its events") } else { Ok(()) }
    }

    fn accept_object(&mut self, event: &Event, history: &History) -> Result<(), &'static str> {
        let view = &self.view;
        // With bookmarks, only initial events come before the end of the state.
        let state_only = self.bookmarks && !self.initialized;
        self.candidates.retain_mut(|candidate| {
            let due = !(state_only && candidate.initial.is_empty());
            due && candidate.accepts(event, view, history)
        });
        if self.initialized {
            self.last = event.revision;
        }
        if self.candidates.is_empty() { Err("not the next event") } else { Ok(()) }
    }

    /// The revision from which the client can resume: that of its last event. `None` before the end of the
    /// initial state.
    pub fn resumable(&self) -> Option<Revision> {
        self.initialized.then_some(self.last)
    }

    /// True if everything up to the revision has been delivered.
    pub fn is_complete(&self, upto: Revision, history: &History) -> bool {
        let initialized = self.initialized || !self.bookmarks;
        initialized
            && self.candidates.iter().any(|candidate| candidate.is_complete(upto, &self.view, history))
    }

    /// The undelivered changes that concern a view.
    pub fn unread<'a>(
        &self,
        view: &'a View,
        history: &'a History,
    ) -> impl Iterator<Item = (usize, &'a Change)> + use<'a> {
        let next = self.candidates.iter().map(|candidate| candidate.next).min();
        let changes = history.changes().iter().enumerate().skip(next.unwrap_or(0));
        changes.filter(move |(_, change)| view.is_touched_by(change))
    }

    fn describe(&self, history: &History) -> String {
        let next = |candidate: &Candidate| match candidate.expected(&self.view, history) {
            Some(((kind, object, revision), _)) => {
                format!(
                    "{kind:?} {} of {} at {revision} (from {:?})",
                    object.key, object.revision, candidate.at
                )
            }
            None => format!("nothing (from {:?})", candidate.at),
        };
        let descriptions: Vec<String> = self.candidates.iter().take(3).map(next).collect();
        format!("{}, {} possible beginnings", descriptions.join(" or "), self.candidates.len())
    }
}

/// Formats an event for the trace.
pub fn show(event: &Event) -> String {
    match &event.element {
        None if event.initial_events_end => format!("end of state at {}", event.revision),
        None => format!("bookmark at {}", event.revision),
        Some(element) => {
            format!("{:?} {} of {} at {}", event.kind, element.key(), element.revision(), event.revision)
        }
    }
}
