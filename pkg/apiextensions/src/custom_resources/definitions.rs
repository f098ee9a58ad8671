//! Informer of CRDs: the fields that decide about serving, and the encoded objects.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use ::api::resources;
use ::api::resources::custom::{BULK, Names};
use ::api::tree::{child, children, text, texts};
use bytes::Bytes;
use registry::informer::{ObjectChange, Projection};
use registry::meta;
use schema::json::{Outline, decode_outline};
use schema::object::Object;
use storage::Revision;

/// The finalizer of a deleted CRD, until its objects are deleted.
pub(super) const CLEANUP_FINALIZER: &str = "customresourcecleanup.apiextensions.k8s.io";

#[derive(Clone, Default)]
pub struct Definitions {
    by_name: BTreeMap<Box<str>, Arc<Definition>>,
    /// Names of unreadable CRDs.
    unreadable: BTreeSet<Box<str>>,
    changes: u64,
    /// CRDs that another server has parsed and shares the bytes of.
    shared: Option<Arc<Definitions>>,
}

impl Definitions {
    /// Creates an empty view. CRDs with the same bytes as in `shared` are not parsed again.
    pub(super) fn sharing(shared: Arc<Definitions>) -> Self {
        Definitions { shared: Some(shared), ..Definitions::default() }
    }

    /// Returns the number of applied changes.
    pub(super) fn changes(&self) -> u64 {
        self.changes
    }

    /// True if every stored CRD is readable. The resource of an unreadable CRD is unknown.
    pub(super) fn is_complete(&self) -> bool {
        self.unreadable.is_empty()
    }

    /// Returns the CRD that was parsed from these bytes (at the same address), if any.
    fn find_shared(&self, name: &str, bytes: &Bytes) -> Option<Arc<Definition>> {
        let shared = self.shared.as_ref()?.by_name.get(name)?;
        let is_same = (shared.bytes.as_ptr(), shared.bytes.len()) == (bytes.as_ptr(), bytes.len());
        is_same.then(|| Arc::clone(shared))
    }

    /// Returns all readable CRDs, ordered by name.
    pub(super) fn all(&self) -> Vec<Arc<Definition>> {
        self.by_name.values().map(Arc::clone).collect()
    }
}

impl Projection for Definitions {
    fn apply(&mut self, change: &ObjectChange) {
        self.changes += 1;
        self.unreadable.remove(change.name());
        let read = |bytes: &Bytes| {
            let read = decode_outline(bytes, BULK);
            let read = read.inspect_err(
                |error| tracing::error!(name = change.name(), %error, "a definition is no JSON"),
            );
            Some(Arc::new(Definition::read(read.ok()?, change.revision(), bytes.clone())?))
        };
        let definition =
            change.bytes().and_then(|bytes| self.find_shared(change.name(), bytes).or_else(|| read(bytes)));
        match definition {
            Some(definition) => _ = self.by_name.insert(change.name().into(), definition),
            None => {
                self.by_name.remove(change.name());
                if !change.is_deleted() {
                    self.unreadable.insert(change.name().into());
                }
            }
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Definition {
    pub(super) name: String,
    pub(super) uid: String,
    pub(super) revision: Revision,
    pub(super) generation: i64,
    pub(super) group: String,
    pub(super) namespaced: bool,
    /// The requested names.
    pub(super) names: Names,
    pub(super) accepted_names: Names,
    /// Types and statuses of its conditions.
    conditions: Vec<(String, String)>,
    is_deleting: bool,
    /// True if it is deleted and its objects must be deleted first.
    waits_for_cleanup: bool,
    is_of_builtin: bool,
    /// The stored object as JSON.
    pub(super) bytes: Bytes,
    /// The parsed outline; taken when the resource is installed.
    outline: Arc<Mutex<Option<Outline>>>,
}

impl Definition {
    /// Reads a stored CRD by the outline of its bytes; `None` if it is not an object.
    pub(super) fn read(outline: Outline, revision: Revision, bytes: Bytes) -> Option<Self> {
        let object = outline.value.as_object()?;
        let empty = Object::new();
        let spec = child(object, "spec").unwrap_or(&empty);
        let status = child(object, "status").unwrap_or(&empty);
        let names = |holder: &Object, name: &str| child(holder, name).map(Names::read).unwrap_or_default();
        let conditions = children(status, "conditions");
        let metadata = meta::metadata(object).unwrap_or(&empty);
        let group = text(spec, "group");
        let accepted_names = names(status, "acceptedNames");
        Some(Definition {
            name: text(metadata, "name").to_owned(),
            uid: text(metadata, "uid").to_owned(),
            revision,
            generation: meta::generation(object),
            group: group.to_owned(),
            namespaced: text(spec, "scope") != "Cluster",
            names: names(spec, "names"),
            is_of_builtin: stores_builtin(group, &accepted_names.plural),
            accepted_names,
            conditions: conditions
                .map(|condition| (text(condition, "type").into(), text(condition, "status").into()))
                .collect(),
            is_deleting: meta::is_deleting(object),
            waits_for_cleanup: meta::is_deleting(object)
                && texts(metadata, "finalizers").any(|name| name == CLEANUP_FINALIZER),
            bytes,
            outline: Arc::new(Mutex::new(Some(outline))),
        })
    }

    /// Returns the outline, which excludes the [bulk](BULK). Only the first call uses the parsed outline;
    /// later calls parse again.
    ///
    /// # Errors
    /// The bytes are not JSON.
    pub(super) fn outline(&self) -> Result<Outline, schema::json::Error> {
        let cached = self.outline.lock().unwrap_or_else(PoisonError::into_inner).take();
        cached.map_or_else(|| decode_outline(&self.bytes, BULK), Ok)
    }

    /// Drops the outline, because the resource is already installed.
    pub(super) fn drop_outline(&self) {
        drop(self.outline.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    /// Returns the status of a condition, if it is set.
    pub(super) fn condition(&self, kind: &str) -> Option<&str> {
        self.conditions.iter().find(|(name, _)| name == kind).map(|(_, status)| status.as_str())
    }

    /// True if the status of a condition is `True`.
    pub(super) fn is(&self, kind: &str) -> bool {
        self.condition(kind) == Some("True")
    }

    /// True if its objects would have the storage location of a built-in resource. The built-in resource
    /// takes precedence: the CRD is not served, and its deletion deletes no objects.
    pub(super) fn is_of_builtin(&self) -> bool {
        self.is_of_builtin
    }

    /// True if no objects may be created, because it is deleted or its objects are.
    pub(super) fn is_terminating(&self) -> bool {
        self.is_deleting || self.is("Terminating")
    }

    /// True if no names were accepted yet.
    pub(super) fn is_new(&self) -> bool {
        self.condition("NamesAccepted").is_none() && self.accepted_names == Names::default()
    }

    /// Returns a copy with its requested names accepted.
    pub(super) fn with_accepted_names(&self) -> Definition {
        let mut named = self.clone();
        named.accepted_names = self.names.clone();
        named.is_of_builtin = stores_builtin(&named.group, &named.accepted_names.plural);
        named.conditions.push(("NamesAccepted".to_owned(), "True".to_owned()));
        named
    }

    pub(super) fn may_be_served(&self) -> bool {
        let accepted = &self.accepted_names;
        let named = [&accepted.plural, &accepted.singular, &accepted.kind, &accepted.list_kind];
        !self.is_of_builtin
            && (self.is("NamesAccepted") || self.is("Established"))
            && named.iter().all(|name| !name.is_empty())
    }

    /// True if its objects must be deleted before it.
    pub(super) fn waits_for_cleanup(&self) -> bool {
        self.waits_for_cleanup
    }
}

/// True if a built-in resource has the storage location of a custom one with this group and plural. This
/// applies to the groups of upstream's extension servers, including CRDs themselves.
fn stores_builtin(group: &str, plural: &str) -> bool {
    let mut prefixes = resources::all().filter_map(|row| row.storage.as_ref()).map(|storage| storage.prefix);
    prefixes.any(|prefix| prefix.split_once('/') == Some((group, plural)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn outline_is_parsed_again_after_first_use() {
        let text =
            r#"{"metadata":{"name":"as.b"},"spec":{"validation":{"openAPIV3Schema":{"type":"object"}}}}"#;
        let read = decode_outline(text.as_bytes(), BULK).unwrap();
        let definition = Definition::read(read.clone(), 1, Bytes::from_static(text.as_bytes())).unwrap();
        for _ in 0..2 {
            assert_eq!(definition.outline().unwrap(), read);
        }
        definition.drop_outline();
        assert_eq!(definition.outline().unwrap(), read);
        let list = Outline { value: jsontree::json!([]), skipped: Vec::new() };
        assert!(Definition::read(list, 1, Bytes::new()).is_none());
    }
}
