//! Side results of plugins: warnings, audit annotations and reinvocation state.

use api::tree::{child, pairs};
use apimachinery::foreign_text::{ForeignText, ForeignTextBudget};
use jsontree::Value;
use schema::object::Object;

use crate::dynamic::EditedObject;
use crate::reinvocation::ReinvocationContext;

const MANAGED_FIELDS: &str = "managedFields";

/// The lowest audit level that includes an annotation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    Metadata,
    Request,
    RequestResponse,
}

/// An annotation for the audit event of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Annotation {
    /// A qualified name, for example `pod-security.kubernetes.io/enforce-policy`.
    pub key: String,
    pub value: String,
    /// The lowest level of events that include it.
    pub level: Level,
}

/// Side results of all plugins, in order.
#[derive(Debug, Default, PartialEq)]
pub struct AdmissionNotes {
    /// Warnings for the client. They are sent even if the request fails.
    pub warnings: Vec<String>,
    annotations: Vec<Annotation>,
    /// Webhooks to reinvoke.
    pub(crate) webhooks: ReinvocationContext,
    /// Policies to reinvoke.
    pub(crate) policies: ReinvocationContext,
    round: MutationRound,
    /// The managed fields before the first change by a webhook or policy.
    managed_fields: Option<Option<Value>>,
    shares_labels: Option<bool>,
}

/// Round of the mutating plugins.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum MutationRound {
    #[default]
    First,
    /// First round, and a second round is requested.
    Unfinished,
    Second,
}

impl AdmissionNotes {
    /// Requests one more round of all mutating plugins, because earlier plugins have not seen the latest
    /// change.
    pub(crate) fn request_reinvocation(&mut self) {
        if self.round == MutationRound::First {
            self.round = MutationRound::Unfinished;
        }
    }

    /// True in the second round.
    pub(crate) fn is_reinvocation(&self) -> bool {
        self.round == MutationRound::Second
    }

    /// Starts the second round if it was requested.
    pub(crate) fn start_reinvocation(&mut self) -> bool {
        let unfinished = self.round == MutationRound::Unfinished;
        if unfinished {
            self.round = MutationRound::Second;
        }
        unfinished
    }

    /// Replaces the object with the version that a webhook or policy has edited.
    pub(crate) fn replace(&mut self, object: &mut Object, edited: EditedObject) {
        self.shares_labels = Some(edited.shares_labels);
        *object = edited.object;
    }

    /// Returns whether the object takes its labels from its pod template ([`kinds::defaults::shares_labels`]). `None` if no
    /// webhook has edited it: then the submitted object decides.
    pub fn shares_labels(&self) -> Option<bool> {
        self.shares_labels
    }

    /// Saves the managed fields before the first change by a webhook or policy.
    pub(crate) fn keep_managed_fields(&mut self, object: &Object) {
        let fields = || child(object, "metadata").and_then(|metadata| metadata.get(MANAGED_FIELDS)).cloned();
        self.managed_fields.get_or_insert_with(fields);
    }

    /// Restores the managed fields if a webhook or policy has made them invalid, and adds a warning
    /// (upstream's `managedFieldsValidatingAdmissionController`).
    pub(crate) fn restore_managed_fields(&mut self, object: &mut Object) {
        let Some(former) = self.managed_fields.take() else { return };
        let Err(error) = fieldmanager::check(object) else { return };
        self.warn(fieldmanager::warning_after_admission(&error));
        let Some(Value::Object(metadata)) = object.get_mut("metadata") else { return };
        match former {
            Some(fields) => _ = metadata.insert(MANAGED_FIELDS.to_owned(), fields),
            None => _ = metadata.remove(MANAGED_FIELDS),
        }
    }

    /// Adds a warning for the client.
    pub fn warn(&mut self, text: impl Into<String>) {
        self.warnings.push(text.into());
    }

    /// Adds an annotation to the audit event. An existing annotation with the same key is kept. Returns true
    /// if the event now contains this annotation.
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

    pub fn annotations(&self) -> &[Annotation] {
        &self.annotations
    }
}

/// Returns the `auditAnnotations` of a webhook's response within the limit of foreign text. A key that would be cut is left
/// out, with all that follow.
pub(crate) fn audit_annotations(response: &Object) -> Vec<(ForeignText, ForeignText)> {
    let mut budget = ForeignTextBudget::default();
    let mut annotations = Vec::new();
    for (key, value) in pairs(response, "auditAnnotations") {
        let retained = budget.take(key);
        if retained != *key || budget.is_spent() {
            break;
        }
        annotations.push((retained, budget.take(value)));
    }
    annotations
}

#[cfg(test)]
mod tests {
    use jsontree::json;

    use super::*;

    #[test]
    fn audit_annotations_share_one_budget() {
        let page = "x".repeat(1 << 20);
        let response = json!({"auditAnnotations": {"a": "1", "b": page, "c": "3"}});
        let annotations = audit_annotations(response.as_object().unwrap());
        assert_eq!(annotations.iter().map(|(key, _)| key.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        let bytes: usize = annotations.iter().map(|(_, value)| value.as_str().len()).sum();
        assert_eq!(bytes, 2046);
    }

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
