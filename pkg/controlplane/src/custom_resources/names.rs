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

/// What was written and has not come back yet. Names have to be given out by what is, not by what is known of it.
#[derive(Default)]
pub(super) struct Accepted(HashMap<String, (i64, String, Names)>);

impl Accepted {
    /// A definition was written.
    pub(super) fn note(&mut self, definition: &Definition, written: &Object) {
        let names = child(written, "status").and_then(|status| child(status, "acceptedNames"));
        let revision = meta::metadata(written).map_or("", |metadata| text(metadata, "resourceVersion"));
        let entry = (
            revision.parse().unwrap_or_default(),
            definition.group.clone(),
            names.map(Names::read).unwrap_or_default(),
        );
        self.0.insert(definition.name.clone(), entry);
    }

    /// Forgets what has come back, and what went.
    pub(super) fn forget_known(&mut self, definitions: &[Arc<Definition>]) {
        let known = |name: &String| {
            let at = definitions.binary_search_by(|definition| definition.name.cmp(name)).ok()?;
            definitions.get(at).map(|definition| definition.revision)
        };
        self.0.retain(|name, (revision, ..)| known(name).is_some_and(|known| known < *revision));
    }

    /// The names that are taken in a group.
    pub(super) fn of_group<'d>(
        &self,
        group: &'d str,
        definitions: &'d [Arc<Definition>],
    ) -> impl Fn() -> Taken + use<'_, 'd> {
        move || {
            let mut taken = Taken::default();
            let newer = |definition: &Definition| self.0.get(&definition.name);
            for definition in definitions.iter().filter(|definition| definition.group == group) {
                match newer(definition) {
                    Some((_, _, names)) => taken.add(names),
                    None => taken.add(&definition.accepted),
                }
            }
            taken
        }
    }
}
