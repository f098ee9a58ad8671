//! What those who take part in a request note about it besides its answer: annotations of its audit event,
//! and warnings of steps that make no answer themselves.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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

/// The notes about one request. Clones are the same notes.
#[derive(Debug, Clone, Default)]
pub struct Notes(Arc<Mutex<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    annotations: Vec<(Cow<'static, str>, String, Least)>,
    warnings: Vec<String>,
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
        self.annotations_of(Least::RequestResponse)
    }

    /// Those for a record that has so much of the request.
    pub fn annotations_of(&self, recorded: Least) -> Vec<(Cow<'static, str>, String)> {
        let inner = self.inner();
        let wanted = inner.annotations.iter().filter(|(_, _, least)| *least <= recorded);
        wanted.map(|(key, value, _)| (key.clone(), value.clone())).collect()
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
        let keys =
            |recorded| notes.annotations_of(recorded).into_iter().map(|(key, _)| key).collect::<Vec<_>>();
        assert_eq!(keys(Least::Metadata), ["b"]);
        assert_eq!(keys(Least::RequestResponse), ["a", "b"]);
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
