//! Names that are taken: no two definitions of a group may go by the same.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use ::api::resources::custom::Names;
use ::api::tree::child;
use schema::object::Object;

use super::definitions::Definition;

/// The names that the definitions of a group have.
#[derive(Debug, Default, Clone)]
pub(super) struct Taken {
    /// Plural and singular names, and short ones.
    pub(super) resources: HashSet<String>,
    /// Kinds, and kinds of lists.
    pub(super) kinds: HashSet<String>,
}

impl Taken {
    /// Takes the names of a definition.
    pub(super) fn add(&mut self, names: &Names) {
        let resources = [&names.plural, &names.singular].into_iter().chain(&names.short_names);
        self.resources.extend(resources.cloned());
        self.kinds.extend([&names.kind, &names.list_kind].into_iter().cloned());
    }

    /// Whether any of these names is taken.
    fn has_any(&self, names: &Names) -> bool {
        let mut resources = [&names.plural, &names.singular].into_iter().chain(&names.short_names);
        let mut kinds = [&names.kind, &names.list_kind].into_iter();
        resources.any(|name| self.resources.contains(name)) || kinds.any(|name| self.kinds.contains(name))
    }
}

/// What is being written, or was and has not come back yet, by the definition's name. Names have to be given out by what
/// is, not by what is known of it.
#[derive(Default)]
pub(super) struct Accepted(HashMap<String, Entry>);

struct Entry {
    /// The revision that was written; `None` as long as nobody knows.
    written: Option<i64>,
    names: Names,
}

impl Accepted {
    /// A definition is about to be written so: its names are nobody else's.
    pub(super) fn reserve(&mut self, definition: &Definition, wanted: &Object) {
        let names = child(wanted, "status").and_then(|status| child(status, "acceptedNames"));
        let entry = Entry { written: None, names: names.map(Names::read).unwrap_or_default() };
        self.0.insert(definition.name.clone(), entry);
    }

    /// A write is over: `revision` is what was written, if anything.
    pub(super) fn settle(&mut self, definition: &Definition, revision: Option<i64>) {
        match (self.0.get_mut(&definition.name), revision) {
            (Some(entry), Some(revision)) => entry.written = Some(revision),
            _ => _ = self.0.remove(&definition.name),
        }
    }

    /// Forgets what has come back, and what went.
    pub(super) fn forget_known(&mut self, definitions: &[Arc<Definition>]) {
        let known = |name: &String| {
            let at = definitions.binary_search_by(|definition| definition.name.cmp(name)).ok()?;
            definitions.get(at).map(|definition| definition.revision)
        };
        self.0.retain(|name, entry| known(name).is_some_and(|known| Some(known) < entry.written));
    }

    /// The definitions as they will be: those that nobody has looked at yet, and whose names are free, have these
    /// names. What is served follows from it, so that one write can tell that they have the names and are
    /// established.
    pub(super) fn foreseen(&self, definitions: &[Arc<Definition>]) -> Vec<Arc<Definition>> {
        if !definitions.iter().any(|definition| definition.is_new()) {
            return definitions.to_vec();
        }
        let mut groups: HashMap<&str, Taken> = HashMap::new();
        for definition in definitions {
            let names = self.0.get(&definition.name).map_or(&definition.accepted, |entry| &entry.names);
            groups.entry(&definition.group).or_default().add(names);
        }
        let mut has_its_names = |definition: &Definition| {
            if let Some(entry) = self.0.get(&definition.name) {
                return entry.names == definition.wanted;
            }
            let Some(taken) = groups.get_mut(definition.group.as_str()) else { return false };
            let are_free = !taken.has_any(&definition.wanted);
            if are_free {
                taken.add(&definition.wanted);
            }
            are_free
        };
        let foreseen = |definition: &Arc<Definition>| {
            if definition.is_new() && has_its_names(definition) {
                Arc::new(definition.named())
            } else {
                Arc::clone(definition)
            }
        };
        definitions.iter().map(foreseen).collect()
    }

    /// The names that others have in the group of a definition.
    pub(super) fn of_others(&self, definition: &Definition, definitions: &[Arc<Definition>]) -> Taken {
        let mut taken = Taken::default();
        let is_another =
            |other: &&Arc<Definition>| other.group == definition.group && other.name != definition.name;
        for other in definitions.iter().filter(is_another) {
            taken.add(self.0.get(&other.name).map_or(&other.accepted, |entry| &entry.names));
        }
        taken
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
        let outline = Outline { value: object, left: Vec::new() };
        Arc::new(Definition::read(outline, 7, Bytes::new()).unwrap())
    }

    /// The plural names of those that may be served.
    fn served<'d>(accepted: &Accepted, definitions: &'d [Arc<Definition>]) -> Vec<&'d str> {
        let foreseen = accepted.foreseen(definitions);
        let served = definitions.iter().zip(&foreseen).filter(|(_, foreseen)| foreseen.may_be_served());
        served.map(|(definition, _)| definition.wanted.plural.as_str()).collect()
    }

    #[test]
    fn a_new_definition_is_served_as_soon_as_its_names_are_free() {
        let check = |definitions: &[Arc<Definition>], expected: &[&str]| {
            assert_eq!(served(&Accepted::default(), definitions), expected);
        };
        let (gadgets, widgets) = (definition("gadgets", "Gadget", &[]), definition("widgets", "Widget", &[]));
        check(&[gadgets.clone(), widgets], &["gadgets", "widgets"]);
        check(&[gadgets.clone(), definition("others", "Gadget", &[])], &["gadgets"]);
        check(&[gadgets.clone(), definition("others", "Gadget", &["True"])], &["others"]);
        check(&[gadgets, definition("others", "Other", &["False"])], &["gadgets"]);
    }

    #[test]
    fn names_that_are_being_written_are_taken_and_served_until_they_come_back() {
        let (gadgets, rival) = (definition("gadgets", "Gadget", &[]), definition("agadgets", "Gadget", &[]));
        let written = json!({"status": {"acceptedNames": {
            "plural": "gadgets", "singular": "gadgets", "kind": "Gadget", "listKind": "GadgetList",
        }}});
        let mut accepted = Accepted::default();
        accepted.reserve(&gadgets, written.as_object().unwrap());
        let definitions = [rival, gadgets];
        assert_eq!(served(&accepted, &definitions), ["gadgets"]);
    }
}
