//! What is defined becomes what is served.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use ::api::catalog::{self, CustomResource, Group};
use ::api::cel_times::CelTimes;
use ::api::resources::Handle;
use ::api::resources::custom::{CustomKind, Names};
use ::api::tree::child;
use apimachinery::kube_version;

use registry::generic::Convert;

use super::conversion::{Common, WebhookConversion};
use super::definitions::Definition;
use super::figures::{DefinitionFigures, Reason};
use crate::custom_kinds::CustomKinds;

/// Keeps what is served as definitions say.
pub(super) struct Serving {
    kinds: CustomKinds,
    webhooks: Common,
    figures: Arc<DefinitionFigures>,
    /// The minor number of the release whose expressions rules may use.
    minor: u32,
    /// By the definition's name.
    served: BTreeMap<String, Served>,
}

/// What became of definitions.
pub(super) struct Outcome {
    /// Nothing of them had to be left out.
    pub(super) complete: bool,
    /// Something else is served than before.
    pub(super) changed: bool,
}

/// A resource that is served, and what of its definition it was made from.
struct Served {
    group: String,
    made_from: MadeFrom,
    resource: CustomResource,
}

/// What rows follow from.
#[derive(PartialEq, Eq, Clone)]
struct MadeFrom {
    uid: String,
    generation: i64,
    names: Names,
    /// Nothing may be created any more.
    terminating: bool,
}

impl MadeFrom {
    fn of(definition: &Definition) -> Self {
        MadeFrom {
            uid: definition.uid.clone(),
            generation: definition.generation,
            names: definition.accepted.clone(),
            terminating: definition.is("Terminating"),
        }
    }

    /// Whether rows of it are still those of a definition. Asked about all of them whenever one changes.
    fn is_of(&self, definition: &Definition) -> bool {
        self.generation == definition.generation
            && self.uid == definition.uid
            && self.names == definition.accepted
            && self.terminating == definition.is("Terminating")
    }

    /// Whether what is stored is read in the same way.
    fn reads_as(&self, other: &MadeFrom) -> bool {
        (&self.uid, self.generation, &self.names) == (&other.uid, other.generation, &other.names)
    }
}

impl Serving {
    /// Nothing yet.
    pub(super) fn new(
        kinds: CustomKinds,
        webhooks: Common,
        figures: Arc<DefinitionFigures>,
        minor: u32,
    ) -> Self {
        Serving { kinds, webhooks, figures, minor, served: BTreeMap::new() }
    }

    /// Serves what these define, and nothing else.
    pub(super) fn serve(&mut self, definitions: &[Arc<Definition>]) -> Outcome {
        let mut groups = BTreeSet::new();
        let mut stays = HashSet::new();
        let mut complete = true;
        for definition in definitions.iter().filter(|definition| definition.may_be_served()) {
            stays.insert(definition.name.as_str());
            let before = self.served.get(&definition.name);
            if before.is_some_and(|before| before.made_from.is_of(definition)) {
                continue;
            }
            let made_from = MadeFrom::of(definition);
            let rows = rows(definition, &made_from, self.minor, &self.webhooks, &self.kinds.cel_times);
            let Some((resource, outside)) = rows else {
                complete = false;
                continue;
            };
            if !before.is_some_and(|before| before.made_from.reads_as(&made_from)) {
                self.kinds.install(&resource, outside);
            }
            let reason = if before.is_some() { Reason::Update } else { Reason::Add };
            self.figures.changed(&definition.name, &definition.group, reason, versions(&resource));
            groups.insert(definition.group.clone());
            let served = Served { group: definition.group.clone(), made_from, resource };
            self.served.insert(definition.name.clone(), served);
        }
        let gone: Vec<String> =
            self.served.keys().filter(|name| !stays.contains(name.as_str())).cloned().collect();
        let gone = gone.into_iter().filter_map(|name| self.served.remove_entry(&name));
        let gone: Vec<(String, Served)> = gone.collect();
        for (name, served) in &gone {
            self.figures.changed(name, &served.group, Reason::Remove, versions(&served.resource));
            groups.insert(served.group.clone());
        }
        self.publish(&groups);
        // Who looks for it does not find it any more.
        gone.iter().for_each(|(_, served)| self.kinds.retire(&served.resource));
        Outcome { complete, changed: !groups.is_empty() }
    }

    fn publish(&self, groups: &BTreeSet<String>) {
        if groups.is_empty() {
            return;
        }
        let mut resources: HashMap<&str, Vec<CustomResource>> = HashMap::new();
        for served in self.served.values().filter(|served| groups.contains(&served.group)) {
            resources.entry(&served.group).or_default().push(served.resource.clone());
        }
        let changed = groups.iter().map(|group| {
            let resources = resources.remove(group.as_str()).unwrap_or_default();
            let rows = resources.iter().flat_map(|resource| &resource.served);
            let versions: BTreeSet<&str> = rows.map(|row| row.row().version).collect();
            let mut versions: Vec<&str> = versions.into_iter().collect();
            versions.sort_by(|a, b| kube_version::compare(b, a));
            Group::custom(group, &versions, &resources)
        });
        self.kinds.serve(changed.collect());
    }

    /// The group versions that are served.
    pub(super) fn versions(&self) -> BTreeSet<(String, String)> {
        let rows = self.served.values().flat_map(|served| &served.resource.served);
        rows.map(|row| (row.row().group.to_owned(), row.row().version.to_owned())).collect()
    }

    /// Whether the resource of a definition is served as the definition has it, or is built in.
    pub(super) fn serves(&self, definition: &Definition) -> bool {
        let served = self.served.get(&definition.name);
        definition.is_of_builtin() || served.is_some_and(|served| served.made_from.is_of(definition))
    }

    /// The row that the objects of a definition are stored by.
    pub(super) fn stored_row(&self, definition: &Definition) -> Option<Handle> {
        self.served.get(&definition.name).map(|served| served.resource.stored.clone())
    }
}

/// The versions in which a resource is served. One has a row for each of its subresources, too.
fn versions(resource: &CustomResource) -> impl Iterator<Item = &str> {
    let versions: BTreeSet<&str> = resource.served.iter().map(|row| row.row().version).collect();
    versions.into_iter()
}

/// The rows of a definition, and who converts between its versions if somebody has to. What cannot be read is not
/// served, which the log is told.
fn rows(
    definition: &Definition,
    made_from: &MadeFrom,
    minor: u32,
    webhooks: &Common,
    cel_times: &Arc<CelTimes>,
) -> Option<(CustomResource, Option<Arc<dyn Convert>>)> {
    let read = schema::json::decode_untyped(&definition.bytes);
    let read =
        read.inspect_err(|error| tracing::error!(name = definition.name, %error, "a definition is no JSON"));
    let value = read.ok()?.value;
    let spec = child(value.as_object()?, "spec")?;
    let outside = WebhookConversion::read(&definition.name, spec, webhooks);
    let kind = CustomKind::of_stored(spec, &definition.accepted, made_from.terminating, minor);
    let kind = kind.timed(cel_times);
    let definition = catalog::Definition {
        group: &definition.group,
        names: &definition.accepted,
        namespaced: definition.namespaced,
        kind: Arc::new(kind),
    };
    Some((definition.resource()?, outside))
}
