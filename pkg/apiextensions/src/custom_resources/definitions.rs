//! The definitions there are: of each what decides whether it is served, and its bytes.

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

/// The finalizer of every definition that is deleted: its objects go first.
pub(super) const CLEANUP_FINALIZER: &str = "customresourcecleanup.apiextensions.k8s.io";

/// All definitions.
#[derive(Clone, Default)]
pub struct Definitions {
    by_name: BTreeMap<Box<str>, Arc<Definition>>,
    /// The names of those that nobody can read.
    unreadable: BTreeSet<Box<str>>,
    changes: u64,
    /// What another server has read, with which this one shares bytes.
    known: Option<Arc<Definitions>>,
}

impl Definitions {
    /// None yet. Whose bytes are the very ones that somebody has `known`, is not read again.
    pub(super) fn beside(known: Arc<Definitions>) -> Self {
        Definitions { known: Some(known), ..Definitions::default() }
    }

    /// How many changes this view has taken in.
    pub(super) fn changes(&self) -> u64 {
        self.changes
    }

    /// Whether all that are stored are known. While one cannot be read, nobody knows what it defines.
    pub(super) fn is_complete(&self) -> bool {
        self.unreadable.is_empty()
    }

    /// The definition with a name that was read from these bytes, where they are, if somebody has.
    fn known(&self, name: &str, bytes: &Bytes) -> Option<Arc<Definition>> {
        let known = self.known.as_ref()?.by_name.get(name)?;
        let is_same = (known.bytes.as_ptr(), known.bytes.len()) == (bytes.as_ptr(), bytes.len());
        is_same.then(|| Arc::clone(known))
    }

    /// All that can be read, by name.
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
            change.bytes().and_then(|bytes| self.known(change.name(), bytes).or_else(|| read(bytes)));
        match definition {
            Some(definition) => _ = self.by_name.insert(change.name().into(), definition),
            None => {
                self.by_name.remove(change.name());
                if !change.is_gone() {
                    self.unreadable.insert(change.name().into());
                }
            }
        }
    }
}

/// A definition.
#[derive(Debug, Clone)]
pub(crate) struct Definition {
    pub(super) name: String,
    pub(super) uid: String,
    pub(super) revision: Revision,
    pub(super) generation: i64,
    pub(super) group: String,
    pub(super) namespaced: bool,
    /// Names that are asked for.
    pub(super) wanted: Names,
    /// Names that it has.
    pub(super) accepted: Names,
    /// Types and statuses of its conditions.
    conditions: Vec<(String, String)>,
    /// It is deleted, and its objects go first.
    waits_for_cleanup: bool,
    is_of_builtin: bool,
    /// The stored form, in JSON.
    pub(super) bytes: Bytes,
    /// What was read of that, until somebody has made of it what is served.
    outline: Arc<Mutex<Option<Outline>>>,
}

impl Definition {
    /// Reads a stored definition by the outline of its bytes; `None` if that is no object.
    pub(super) fn read(outline: Outline, revision: Revision, bytes: Bytes) -> Option<Self> {
        let (object, empty) = (outline.value.as_object()?, Object::new());
        let spec = child(object, "spec").unwrap_or(&empty);
        let status = child(object, "status").unwrap_or(&empty);
        let names = |holder: &Object, name: &str| child(holder, name).map(Names::read).unwrap_or_default();
        let conditions = children(status, "conditions");
        let metadata = meta::metadata(object).unwrap_or(&empty);
        let (group, accepted) = (text(spec, "group"), names(status, "acceptedNames"));
        Some(Definition {
            name: text(metadata, "name").to_owned(),
            uid: text(metadata, "uid").to_owned(),
            revision,
            generation: meta::generation(object),
            group: group.to_owned(),
            namespaced: text(spec, "scope") != "Cluster",
            wanted: names(spec, "names"),
            is_of_builtin: stores_builtin(group, &accepted.plural),
            accepted,
            conditions: conditions.map(|it| (text(it, "type").into(), text(it, "status").into())).collect(),
            waits_for_cleanup: meta::is_deleting(object)
                && texts(metadata, "finalizers").any(|name| name == CLEANUP_FINALIZER),
            bytes,
            outline: Arc::new(Mutex::new(Some(outline))),
        })
    }

    /// What its bytes say without the [bulk](BULK). It is read again for all but the first who ask.
    ///
    /// # Errors
    /// It is no JSON.
    pub(super) fn outline(&self) -> Result<Outline, schema::json::Error> {
        let known = self.outline.lock().unwrap_or_else(PoisonError::into_inner).take();
        known.map_or_else(|| decode_outline(&self.bytes, BULK), Ok)
    }

    /// Nobody will ask for the outline: what is served is made already.
    pub(super) fn made(&self) {
        drop(self.outline.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    /// Whether a condition is there, and its status.
    pub(super) fn condition(&self, kind: &str) -> Option<&str> {
        self.conditions.iter().find(|(known, _)| known == kind).map(|(_, status)| status.as_str())
    }

    /// Whether a condition is true.
    pub(super) fn is(&self, kind: &str) -> bool {
        self.condition(kind) == Some("True")
    }

    /// Whether its objects would be where those of a built-in resource are. That resource is served instead and
    /// stays as it is: nothing is made of the definition, and nothing is deleted with it.
    pub(super) fn is_of_builtin(&self) -> bool {
        self.is_of_builtin
    }

    /// Whether nobody has said yet which names it has.
    pub(super) fn is_new(&self) -> bool {
        self.condition("NamesAccepted").is_none() && self.accepted == Names::default()
    }

    /// The same with the names that it asks for.
    pub(super) fn named(&self) -> Definition {
        let mut named = self.clone();
        named.accepted = self.wanted.clone();
        named.is_of_builtin = stores_builtin(&named.group, &named.accepted.plural);
        named.conditions.push(("NamesAccepted".to_owned(), "True".to_owned()));
        named
    }

    /// Whether requests may find its resource.
    pub(super) fn may_be_served(&self) -> bool {
        let accepted = &self.accepted;
        let named = [&accepted.plural, &accepted.singular, &accepted.kind, &accepted.list_kind];
        !self.is_of_builtin
            && (self.is("NamesAccepted") || self.is("Established"))
            && named.iter().all(|name| !name.is_empty())
    }

    /// Whether its objects have to be deleted before it can go.
    pub(super) fn waits_for_cleanup(&self) -> bool {
        self.waits_for_cleanup
    }
}

/// Whether a built-in resource is stored where custom ones of a group and a plural name would be: those of the two
/// groups that upstream's other servers have, definitions themselves among them.
fn stores_builtin(group: &str, plural: &str) -> bool {
    let mut prefixes = resources::all().filter_map(|row| row.storage.as_ref()).map(|storage| storage.prefix);
    prefixes.any(|prefix| prefix.split_once('/') == Some((group, plural)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn an_outline_is_read_again_for_those_who_ask_later() {
        let text =
            r#"{"metadata":{"name":"as.b"},"spec":{"validation":{"openAPIV3Schema":{"type":"object"}}}}"#;
        let read = decode_outline(text.as_bytes(), BULK).unwrap();
        let definition = Definition::read(read.clone(), 1, Bytes::from_static(text.as_bytes())).unwrap();
        for _ in 0..2 {
            assert_eq!(definition.outline().unwrap(), read);
        }
        definition.made();
        assert_eq!(definition.outline().unwrap(), read);
        let list = Outline { value: jsontree::json!([]), left: Vec::new() };
        assert!(Definition::read(list, 1, Bytes::new()).is_none());
    }
}
