//! Notes about a request besides its response: audit annotations, the request object for audit, and warnings
//! of steps that create no response.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

/// Maximum number of notes of each kind; more are dropped. No combination of steps and plugins reaches it.
const NOTES_MAX: usize = 1024;

/// Minimum audit level for an annotation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MinimumLevel {
    /// Any level except `None`.
    Metadata,
    /// Request object.
    Request,
    /// Request and response objects.
    RequestResponse,
}

/// Request content for audit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequestContent {
    /// Whole object, for example of a create.
    Object(SentObject),
    /// Body of a patch, unchanged.
    Patch(Bytes),
}

/// Request object with its identifying metadata.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SentObject {
    /// Namespace; empty if absent, like the other fields.
    pub namespace: String,
    /// Name of the object.
    pub name: String,
    /// Uid of the object.
    pub uid: String,
    /// Resource version of the object.
    pub resource_version: String,
    /// Compact JSON of the object in the version of the request, with that version's defaults; `None` if it
    /// is not recorded.
    pub json: Option<Bytes>,
}

/// Notes about one request. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct Notes(Arc<Mutex<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    annotations: Vec<(Cow<'static, str>, String, MinimumLevel)>,
    warnings: Vec<String>,
    /// Audit level for the request content, if audit needs it.
    required_level: Option<MinimumLevel>,
    content: Option<RequestContent>,
}

impl Notes {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an audit annotation. The first value of a key wins (upstream's `AddAuditAnnotation`).
    pub fn annotate(&self, key: impl Into<Cow<'static, str>>, value: impl Into<String>) {
        self.annotate_at(MinimumLevel::Metadata, key, value);
    }

    /// As [`annotate`](Self::annotate), for audit levels from `least` on.
    pub fn annotate_at(
        &self,
        least: MinimumLevel,
        key: impl Into<Cow<'static, str>>,
        value: impl Into<String>,
    ) {
        let key = key.into();
        let value = value.into();
        let mut inner = self.inner();
        let is_new = inner.annotations.iter().all(|(existing, ..)| *existing != key);
        if is_new && inner.annotations.len() < NOTES_MAX {
            inner.annotations.push((key, value, least));
        }
    }

    /// Adds a warning for the client (`Warning` header); at most 1,024 are kept.
    pub fn warn(&self, text: impl Into<String>) {
        let mut inner = self.inner();
        if inner.warnings.len() < NOTES_MAX {
            inner.warnings.push(text.into());
        }
    }

    /// Returns the annotations in order of creation.
    pub fn annotations(&self) -> Vec<(Cow<'static, str>, String)> {
        let mut annotations = Vec::new();
        self.each_annotation(MinimumLevel::RequestResponse, |key, value| {
            annotations.push((key.clone(), value.to_owned()))
        });
        annotations
    }

    /// Calls `each` with the annotations for an audit level, in order of creation.
    pub fn each_annotation(&self, recorded: MinimumLevel, mut each: impl FnMut(&Cow<'static, str>, &str)) {
        let inner = self.inner();
        let visible = inner.annotations.iter().filter(|(_, _, least)| *least <= recorded);
        visible.for_each(|(key, value, _)| each(key, value));
    }

    /// Requests the content of the request: the metadata of the object, and from [`MinimumLevel::Request`] on the
    /// whole object.
    pub fn require_content(&self, recorded: MinimumLevel) {
        self.inner().required_level = Some(recorded);
    }

    /// Returns the requested audit level of the content; `None` if audit does not need it, or has already got
    /// it.
    pub fn required_content(&self) -> Option<MinimumLevel> {
        self.inner().required_level
    }

    /// Records the content of the request, if it was [requested](Self::require_content). The first value wins.
    pub fn set_content(&self, content: RequestContent) {
        let mut inner = self.inner();
        if inner.required_level.take().is_some() {
            inner.content = Some(content);
        }
    }

    /// Takes the content of the request, if it was recorded.
    pub fn take_content(&self) -> Option<RequestContent> {
        self.inner().content.take()
    }

    /// Returns the warnings in order of creation.
    pub fn warnings(&self) -> Vec<String> {
        self.inner().warnings.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_annotation_value_wins() {
        let notes = Notes::default();
        let copy = notes.clone();
        notes.annotate("a", "1");
        copy.annotate("a", "2");
        copy.annotate("b".to_owned(), "3");
        assert_eq!(notes.annotations(), [("a".into(), "1".to_owned()), ("b".into(), "3".to_owned())]);
    }

    #[test]
    fn annotation_can_require_audit_level() {
        let notes = Notes::default();
        notes.annotate_at(MinimumLevel::Request, "a", "1");
        notes.annotate("b", "2");
        let keys = |recorded| {
            let mut keys = Vec::new();
            notes.each_annotation(recorded, |key, _| keys.push(key.to_string()));
            keys
        };
        assert_eq!(keys(MinimumLevel::Metadata), ["b"]);
        assert_eq!(keys(MinimumLevel::RequestResponse), ["a", "b"]);
    }

    #[test]
    fn content_is_recorded_once_if_requested() {
        let notes = Notes::default();
        let patch = |text: &'static str| RequestContent::Patch(Bytes::from_static(text.as_bytes()));
        notes.set_content(patch("unasked"));
        assert_eq!((notes.required_content(), notes.take_content()), (None, None));
        notes.require_content(MinimumLevel::Request);
        assert_eq!(notes.required_content(), Some(MinimumLevel::Request));
        notes.set_content(patch("first"));
        notes.set_content(patch("second"));
        assert_eq!((notes.required_content(), notes.take_content()), (None, Some(patch("first"))));
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
