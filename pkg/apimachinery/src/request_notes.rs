//! What those who take part in a request note about it besides its answer: annotations of its audit event,
//! and warnings of steps that make no answer themselves.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many notes of each kind there may be; others are left out. It is more than all steps and plugins make.
const NOTES_MAX: usize = 1024;

/// The notes about one request. Clones are the same notes.
#[derive(Debug, Clone, Default)]
pub struct Notes(Arc<Mutex<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    annotations: Vec<(Cow<'static, str>, String)>,
    warnings: Vec<String>,
}

impl Notes {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Annotates the request's audit event. The first value of a key stays (upstream's `AddAuditAnnotation`).
    pub fn annotate(&self, key: impl Into<Cow<'static, str>>, value: impl Into<String>) {
        let (key, value) = (key.into(), value.into());
        let mut inner = self.inner();
        let is_new = inner.annotations.iter().all(|(known, _)| *known != key);
        if is_new && inner.annotations.len() < NOTES_MAX {
            inner.annotations.push((key, value));
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
        self.inner().annotations.clone()
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
    fn notes_are_bounded() {
        let notes = Notes::default();
        for n in 0..NOTES_MAX * 2 {
            notes.annotate(n.to_string(), "");
            notes.warn("w");
        }
        assert_eq!((notes.annotations().len(), notes.warnings().len()), (NOTES_MAX, NOTES_MAX));
    }
}
