//! Names that are taken: no two definitions of a group may go by the same.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use ::api::resources::custom::Names;
use ::api::tree::{child, text};
use registry::meta;
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

    /// A write is over: `object` is what was written, if anything.
    pub(super) fn settle(&mut self, definition: &Definition, object: Option<&Object>) {
        let metadata = object.and_then(meta::metadata);
        let revision = metadata.and_then(|metadata| text(metadata, "resourceVersion").parse().ok());
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
