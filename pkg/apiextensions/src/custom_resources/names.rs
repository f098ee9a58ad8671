//! Name conflicts between the CRDs of a group.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use ::api::resources::custom::Names;
use ::api::tree::child;
use schema::object::Object;

use super::definitions::Definition;

/// The names in use in a group.
#[derive(Debug, Default, Clone)]
pub(super) struct NamesInUse {
    /// Plural, singular and short names.
    pub(super) resources: HashSet<String>,
    /// Kinds and list kinds.
    pub(super) kinds: HashSet<String>,
}

impl NamesInUse {
    /// Adds the names of a CRD.
    pub(super) fn add(&mut self, names: &Names) {
        let resources = [&names.plural, &names.singular].into_iter().chain(&names.short_names);
        self.resources.extend(resources.cloned());
        self.kinds.extend([&names.kind, &names.list_kind].into_iter().cloned());
    }

    /// True if any of these names is in use.
    fn has_any(&self, names: &Names) -> bool {
        let mut resources = [&names.plural, &names.singular].into_iter().chain(&names.short_names);
        let mut kinds = [&names.kind, &names.list_kind].into_iter();
        resources.any(|name| self.resources.contains(name)) || kinds.any(|name| self.kinds.contains(name))
    }
}

/// Names in pending writes, by CRD name: writes in progress, and writes that the informer has not received
/// yet. They must count for conflicts because the informer lags behind.
#[derive(Default)]
pub(super) struct PendingNames(HashMap<String, Entry>);

struct Entry {
    /// The written revision; `None` while the write is in progress.
    revision: Option<i64>,
    names: Names,
}

impl PendingNames {
    /// Reserves the names of a CRD before its write.
    pub(super) fn reserve(&mut self, definition: &Definition, desired: &Object) {
        let names = child(desired, "status").and_then(|status| child(status, "acceptedNames"));
        let entry = Entry { revision: None, names: names.map(Names::read).unwrap_or_default() };
        self.0.insert(definition.name.clone(), entry);
    }

    /// Completes a write; `revision` is the written revision, if any.
    pub(super) fn finish_write(&mut self, definition: &Definition, revision: Option<i64>) {
        match (self.0.get_mut(&definition.name), revision) {
            (Some(entry), Some(revision)) => entry.revision = Some(revision),
            _ => _ = self.0.remove(&definition.name),
        }
    }

    /// Removes entries that the informer has received, and those of deleted CRDs.
    pub(super) fn remove_received(&mut self, definitions: &[Arc<Definition>]) {
        let received_at = |name: &String| {
            let at = definitions.binary_search_by(|definition| definition.name.cmp(name)).ok()?;
            definitions.get(at).map(|definition| definition.revision)
        };
        self.0
            .retain(|name, entry| received_at(name).is_some_and(|revision| Some(revision) < entry.revision));
    }

    /// Returns the CRDs with predicted names: new CRDs whose names are free have them accepted. They are
    /// served on this basis, so a single write can set both `NamesAccepted` and `Established`.
    pub(super) fn predict_names(&self, definitions: &[Arc<Definition>]) -> Vec<Arc<Definition>> {
        if !definitions.iter().any(|definition| definition.is_new()) {
            return definitions.to_vec();
        }
        let mut groups: HashMap<&str, NamesInUse> = HashMap::new();
        for definition in definitions {
            let names = self.0.get(&definition.name).map_or(&definition.accepted_names, |entry| &entry.names);
            groups.entry(&definition.group).or_default().add(names);
        }
        let mut has_its_names = |definition: &Definition| {
            if let Some(entry) = self.0.get(&definition.name) {
                return entry.names == definition.names;
            }
            let Some(in_use) = groups.get_mut(definition.group.as_str()) else { return false };
            let are_free = !in_use.has_any(&definition.names);
            if are_free {
                in_use.add(&definition.names);
            }
            are_free
        };
        let foreseen = |definition: &Arc<Definition>| {
            if definition.is_new() && has_its_names(definition) {
                Arc::new(definition.with_accepted_names())
            } else {
                Arc::clone(definition)
            }
        };
        definitions.iter().map(foreseen).collect()
    }

    /// Returns the names of other CRDs in the group of a CRD.
    pub(super) fn other_names(&self, definition: &Definition, definitions: &[Arc<Definition>]) -> NamesInUse {
        let mut in_use = NamesInUse::default();
        let is_another =
            |other: &&Arc<Definition>| other.group == definition.group && other.name != definition.name;
        for other in definitions.iter().filter(is_another) {
            in_use.add(self.0.get(&other.name).map_or(&other.accepted_names, |entry| &entry.names));
        }
        in_use
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use jsontree::json;
    use schema::json::Outline;

    use super::*;

    fn definition(plural: &str, kind: &str, conditions: &[&str]) -> Arc<Definition> {
        let names =
            json!({"plural": plural, "singular": plural, "kind": kind, "listKind": format!("{kind}List")});
        let conditions: Vec<_> =
            conditions.iter().map(|status| json!({"type": "NamesAccepted", "status": status})).collect();
        let accepted = if conditions.is_empty() { json!({}) } else { names.clone() };
        let object = json!({
            "metadata": {"name": format!("{plural}.example.com")},
            "spec": {"group": "example.com", "names": names},
            "status": {"acceptedNames": accepted, "conditions": conditions},
        });
        let outline = Outline { value: object, skipped: Vec::new() };
        Arc::new(Definition::read(outline, 7, Bytes::new()).unwrap())
    }

    /// Returns the plural names of CRDs that may be served.
    fn served<'d>(accepted: &PendingNames, definitions: &'d [Arc<Definition>]) -> Vec<&'d str> {
        let foreseen = accepted.predict_names(definitions);
        let served = definitions.iter().zip(&foreseen).filter(|(_, foreseen)| foreseen.may_be_served());
        served.map(|(definition, _)| definition.names.plural.as_str()).collect()
    }

    #[test]
    fn new_crd_is_served_when_names_are_free() {
        let check = |definitions: &[Arc<Definition>], expected: &[&str]| {
            assert_eq!(served(&PendingNames::default(), definitions), expected);
        };
        let gadgets = definition("gadgets", "Gadget", &[]);
        let widgets = definition("widgets", "Widget", &[]);
        check(&[gadgets.clone(), widgets], &["gadgets", "widgets"]);
        check(&[gadgets.clone(), definition("others", "Gadget", &[])], &["gadgets"]);
        check(&[gadgets.clone(), definition("others", "Gadget", &["True"])], &["others"]);
        check(&[gadgets, definition("others", "Other", &["False"])], &["gadgets"]);
    }

    #[test]
    fn names_in_pending_writes_are_reserved_and_served() {
        let gadgets = definition("gadgets", "Gadget", &[]);
        let rival = definition("agadgets", "Gadget", &[]);
        let written = json!({"status": {"acceptedNames": {
            "plural": "gadgets", "singular": "gadgets", "kind": "Gadget", "listKind": "GadgetList",
        }}});
        let mut accepted = PendingNames::default();
        accepted.reserve(&gadgets, written.as_object().unwrap());
        let definitions = [rival, gadgets];
        assert_eq!(served(&accepted, &definitions), ["gadgets"]);
    }
}
