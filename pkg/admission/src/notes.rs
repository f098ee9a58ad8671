//! What plugins leave behind besides their verdict.

use api::managed_fields;
use api::tree::child;
use jsontree::Value;
use schema::object::Object;

use crate::dynamic::EditedObject;
use crate::reinvocation::ReinvocationContext;

const MANAGED_FIELDS: &str = "managedFields";

/// How much an audit event must tell for an annotation to be in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Who did what.
    Metadata,
    /// And what was sent.
    Request,
    /// And what was answered.
    RequestResponse,
}

/// What a plugin adds to the audit event of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Annotation {
    /// A qualified name, for example `pod-security.kubernetes.io/enforce-policy`.
    pub key: String,
    /// Anything.
    pub value: String,
    /// The least level of events that have it.
    pub level: Level,
}

/// What plugins say besides yes or no, in order.
#[derive(Debug, Default, PartialEq)]
pub struct AdmissionNotes {
    /// For the client, whatever becomes of the request.
    pub warnings: Vec<String>,
    annotations: Vec<Annotation>,
    /// Which webhooks to ask again.
    pub(crate) webhooks: ReinvocationContext,
    /// Which policies to apply again.
    pub(crate) policies: ReinvocationContext,
    round: Round,
    /// What an object had before somebody outside changed it.
    managed_fields: Option<Option<Value>>,
    shares_labels: Option<bool>,
}

/// How often the plugins that edit have been asked.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Round {
    #[default]
    First,
    /// Once, and somebody wants them to be asked again.
    Unfinished,
    Second,
}

impl AdmissionNotes {
    /// Has all plugins asked again that edit, once: those that were asked before do not know of a change.
    pub(crate) fn request_reinvocation(&mut self) {
        if self.round == Round::First {
            self.round = Round::Unfinished;
        }
    }

    /// Whether plugins are being asked again.
    pub(crate) fn is_reinvocation(&self) -> bool {
        self.round == Round::Second
    }

    /// Begins the second round, if somebody wants one.
    pub(crate) fn start_reinvocation(&mut self) -> bool {
        let wanted = self.round == Round::Unfinished;
        if wanted {
            self.round = Round::Second;
        }
        wanted
    }

    /// Puts an object in the place of the one that somebody outside has edited.
    pub(crate) fn replace(&mut self, object: &mut Object, edited: EditedObject) {
        self.shares_labels = Some(edited.shares_labels);
        *object = edited.object;
    }

    /// Whether the object has its labels from its pod template ([`kinds::defaults::shares_labels`]), if somebody outside
    /// has edited it; that decides then, not what was sent.
    pub fn shares_labels(&self) -> Option<bool> {
        self.shares_labels
    }

    /// Keeps the managed fields of an object that somebody outside is about to change, the first time.
    pub(crate) fn keep_managed_fields(&mut self, object: &Object) {
        let fields = || child(object, "metadata").and_then(|metadata| metadata.get(MANAGED_FIELDS)).cloned();
        self.managed_fields.get_or_insert_with(fields);
    }

    /// Puts back the managed fields of an object that somebody outside has broken, and tells the client (upstream's
    /// `managedFieldsValidatingAdmissionController`).
    pub(crate) fn restore_managed_fields(&mut self, object: &mut Object) {
        let Some(former) = self.managed_fields.take() else { return };
        let Err(error) = managed_fields::check(object) else { return };
        self.warn(managed_fields::warning_after_admission(&error));
        let Some(Value::Object(metadata)) = object.get_mut("metadata") else { return };
        match former {
            Some(fields) => _ = metadata.insert(MANAGED_FIELDS.to_owned(), fields),
            None => _ = metadata.remove(MANAGED_FIELDS),
        }
    }

    /// Tells the client something.
    pub fn warn(&mut self, text: impl Into<String>) {
        self.warnings.push(text.into());
    }

    /// Adds to the audit event, unless it has another annotation under this key: the first one counts.
    /// Says whether the event has this one now.
    pub fn annotate(&mut self, key: impl Into<String>, value: impl Into<String>, level: Level) -> bool {
        let annotation = Annotation { key: key.into(), value: value.into(), level };
        match self.annotations.iter().find(|other| other.key == annotation.key) {
            Some(other) => *other == annotation,
            None => {
                self.annotations.push(annotation);
                true
            }
        }
    }

    /// What the audit event is to have.
    pub fn annotations(&self) -> &[Annotation] {
        &self.annotations
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_annotation_under_a_key_counts() {
        let mut notes = AdmissionNotes::default();
        assert!(notes.annotate("a/b", "1", Level::Metadata));
        assert!(notes.annotate("a/b", "1", Level::Metadata));
        assert!(!notes.annotate("a/b", "2", Level::Metadata));
        assert!(!notes.annotate("a/b", "1", Level::Request));
        let values: Vec<&str> = notes.annotations().iter().map(|annotation| &*annotation.value).collect();
        assert_eq!(values, ["1"]);
    }
}
