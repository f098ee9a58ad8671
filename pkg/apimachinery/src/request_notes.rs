//! What those who take part in a request note about it besides its answer: annotations of its audit event and
//! the object in it, and warnings of steps that make no answer themselves.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

/// How many notes of each kind there may be; others are left out. It is more than all steps and plugins make.
const NOTES_MAX: usize = 1024;

/// How much of a request has to be recorded for an annotation to be with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Least {
    /// Anything of it.
    Metadata,
    /// The object in it.
    Request,
    /// The object in the answer, too.
    RequestResponse,
}

/// What a request brings, as far as somebody records that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sent {
    /// An object.
    Object(SentObject),
    /// A patch, as it came.
    Patch(Bytes),
}

/// An object that came with a request: what it says of itself, and the whole.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SentObject {
    /// Its namespace; empty where it says none, as are the others.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
    /// Its resource version.
    pub resource_version: String,
    /// The object as JSON without white space, in the version that it came in, with that version's defaults; `None`
    /// where that is not recorded.
    pub json: Option<Bytes>,
}

/// The notes about one request. Clones are the same notes.
#[derive(Debug, Clone, Default)]
pub struct Notes(Arc<Mutex<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    annotations: Vec<(Cow<'static, str>, String, Least)>,
    warnings: Vec<String>,
    /// Who records the request wants to know what it brings, as far as they record it.
    wants: Option<Least>,
    sent: Option<Sent>,
}

impl Notes {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Annotates the request's audit event. The first value of a key stays (upstream's `AddAuditAnnotation`).
    pub fn annotate(&self, key: impl Into<Cow<'static, str>>, value: impl Into<String>) {
        self.annotate_at(Least::Metadata, key, value);
    }

    /// As [`annotate`](Self::annotate), where so much is recorded.
    pub fn annotate_at(&self, least: Least, key: impl Into<Cow<'static, str>>, value: impl Into<String>) {
        let (key, value) = (key.into(), value.into());
        let mut inner = self.inner();
        let is_new = inner.annotations.iter().all(|(known, ..)| *known != key);
        if is_new && inner.annotations.len() < NOTES_MAX {
            inner.annotations.push((key, value, least));
        }
    }

    /// Warns whoever sent the request.
    pub fn warn(&self, text: impl Into<String>) {
        let mut inner = self.inner();
        if inner.warnings.len() < NOTES_MAX {
            inner.warnings.push(text.into());
        }
    }

    /// The annotations in the order in which they were made.
    pub fn annotations(&self) -> Vec<(Cow<'static, str>, String)> {
        let mut all = Vec::new();
        self.each_annotation(Least::RequestResponse, |key, value| all.push((key.clone(), value.to_owned())));
        all
    }

    /// Shows `each` those for a record that has so much of the request, in the order in which they were made.
    pub fn each_annotation(&self, recorded: Least, mut each: impl FnMut(&Cow<'static, str>, &str)) {
        let inner = self.inner();
        let wanted = inner.annotations.iter().filter(|(_, _, least)| *least <= recorded);
        wanted.for_each(|(key, value, _)| each(key, value));
    }

    /// Asks for what the request brings: for what an object says of itself, and from [`Least::Request`] on for all of
    /// it.
    pub fn want_sent(&self, recorded: Least) {
        self.inner().wants = Some(recorded);
    }

    /// How much is recorded of what the request brings; `None` if nobody wants that, or not any more.
    pub fn wants_sent(&self) -> Option<Least> {
        self.inner().wants
    }

    /// Notes what the request brings, for [whoever wants it](Self::want_sent). The first counts.
    pub fn sent(&self, sent: Sent) {
        let mut inner = self.inner();
        if inner.wants.take().is_some() {
            inner.sent = Some(sent);
        }
    }

    /// Takes what the request brings, if it is known.
    pub fn take_sent(&self) -> Option<Sent> {
        self.inner().sent.take()
    }

    /// The warnings in order.
    pub fn warnings(&self) -> Vec<String> {
        self.inner().warnings.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_value_of_an_annotation_stays() {
        let notes = Notes::default();
        let same = notes.clone();
        notes.annotate("a", "1");
        same.annotate("a", "2");
        same.annotate("b".to_owned(), "3");
        assert_eq!(notes.annotations(), [("a".into(), "1".to_owned()), ("b".into(), "3".to_owned())]);
    }

    #[test]
    fn an_annotation_may_be_for_records_that_say_more() {
        let notes = Notes::default();
        notes.annotate_at(Least::Request, "a", "1");
        notes.annotate("b", "2");
        let keys = |recorded| {
            let mut keys = Vec::new();
            notes.each_annotation(recorded, |key, _| keys.push(key.to_string()));
            keys
        };
        assert_eq!(keys(Least::Metadata), ["b"]);
        assert_eq!(keys(Least::RequestResponse), ["a", "b"]);
    }

    #[test]
    fn what_a_request_brings_is_noted_once_and_for_who_wants_it() {
        let notes = Notes::default();
        let patch = |text: &'static str| Sent::Patch(Bytes::from_static(text.as_bytes()));
        notes.sent(patch("unasked"));
        assert_eq!((notes.wants_sent(), notes.take_sent()), (None, None));
        notes.want_sent(Least::Request);
        assert_eq!(notes.wants_sent(), Some(Least::Request));
        notes.sent(patch("first"));
        notes.sent(patch("second"));
        assert_eq!((notes.wants_sent(), notes.take_sent()), (None, Some(patch("first"))));
    }

    #[test]
    fn notes_are_bounded() {
        let notes = Notes::default();
        for n in 0..NOTES_MAX * 2 {
            notes.annotate(n.to_string(), "");
            notes.warn("w");
        }
        assert_eq!((notes.annotations().len(), notes.warnings().len()), (NOTES_MAX, NOTES_MAX));
    }
}
