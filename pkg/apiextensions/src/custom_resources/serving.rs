//! What is defined becomes what is served.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ::api::catalog::{self, CustomResource, Group};
use ::api::cel_times::CelMetrics;
use ::api::resources::Handle;
use ::api::resources::custom::{CustomKind, Names, SchemaText};
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
    served: SharedKinds,
    /// What the server's parent served of the same definitions.
    known: KnownKinds,
}

/// What is served, by the definition's name. Cloning shares it.
#[derive(Clone, Default)]
pub(super) struct SharedKinds(Arc<Mutex<BTreeMap<String, Arc<Served>>>>);

/// What was served at some time, for a server that has the same definitions. Cloning shares it.
#[derive(Clone, Default)]
pub(super) struct KnownKinds(Arc<BTreeMap<String, Arc<Served>>>);

impl SharedKinds {
    /// What is served now.
    pub(super) fn now(&self) -> KnownKinds {
        KnownKinds(Arc::new(self.lock().clone()))
    }

    /// Every change under the lock is complete, so a poisoned lock is still good.
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Served>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl KnownKinds {
    /// The resource of a definition, if it was made from the same and nobody else converts between its versions.
    fn of(&self, definition: &Definition) -> Option<&Arc<Served>> {
        let known = self.0.get(&definition.name)?;
        (!known.converted && known.made_from.is_of(definition)).then_some(known)
    }
}

/// What became of definitions.
pub(super) struct Outcome {
    /// Nothing of them had to be left out.
    pub(super) complete: bool,
    /// Something else is served than before.
    pub(super) changed: bool,
}

/// A resource that is served, and what of its definition it was made from.
pub(crate) struct Served {
    group: String,
    made_from: MadeFrom,
    resource: CustomResource,
    /// A webhook converts between its versions, which calls others for the one server that it belongs to.
    converted: bool,
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

/// A resource, and who converts between its versions if somebody has to.
type Made = (Arc<Served>, Option<Arc<dyn Convert>>);

impl Serving {
    /// Nothing yet.
    pub(super) fn new(
        kinds: CustomKinds,
        webhooks: Common,
        figures: Arc<DefinitionFigures>,
        minor: u32,
        known: KnownKinds,
    ) -> Self {
        Serving { kinds, webhooks, figures, minor, served: SharedKinds::default(), known }
    }

    /// Serves what these define, and nothing else.
    pub(super) fn serve(&mut self, definitions: &[Arc<Definition>]) -> Outcome {
        let mut groups = BTreeSet::new();
        let mut stays = HashSet::new();
        let mut complete = true;
        let mut new = Vec::new();
        let shared = self.served.clone();
        let mut all = shared.lock();
        for definition in definitions.iter().filter(|definition| definition.may_be_served()) {
            stays.insert(definition.name.as_str());
            let before = all.get(&definition.name);
            if before.is_some_and(|before| before.made_from.is_of(definition)) {
                definition.made();
                continue;
            }
            let Some((served, outside)) = self.made(definition) else {
                complete = false;
                continue;
            };
            if !before.is_some_and(|before| before.made_from.reads_as(&served.made_from)) {
                new.push((served.resource.clone(), outside));
            }
            let reason = if before.is_some() { Reason::Update } else { Reason::Add };
            self.figures.changed(&definition.name, &definition.group, reason, versions(&served.resource));
            groups.insert(definition.group.clone());
            all.insert(definition.name.clone(), served);
        }
        let gone: Vec<String> = all.keys().filter(|name| !stays.contains(name.as_str())).cloned().collect();
        let gone = gone.into_iter().filter_map(|name| all.remove_entry(&name));
        let gone: Vec<(String, Arc<Served>)> = gone.collect();
        for (name, served) in &gone {
            self.figures.changed(name, &served.group, Reason::Remove, versions(&served.resource));
            groups.insert(served.group.clone());
        }
        if !new.is_empty() {
            self.kinds.install(&new);
        }
        self.publish(&all, &groups);
        // Who looks for it does not find it any more.
        gone.iter().for_each(|(_, served)| self.kinds.retire(&served.resource));
        Outcome { complete, changed: !groups.is_empty() }
    }

    /// All is served that was defined at start.
    pub(super) fn complete(&self) {
        self.kinds.complete();
    }

    /// The resource of a definition.
    fn made(&self, definition: &Definition) -> Option<Made> {
        if let Some(known) = self.known.of(definition) {
            return Some((Arc::clone(known), None));
        }
        let made_from = MadeFrom::of(definition);
        let rows = rows(definition, &made_from, self.minor, &self.webhooks, &self.kinds.cel_times);
        let (resource, outside) = rows?;
        let (group, converted) = (definition.group.clone(), outside.is_some());
        Some((Arc::new(Served { group, made_from, resource, converted }), outside))
    }

    fn publish(&self, all: &BTreeMap<String, Arc<Served>>, groups: &BTreeSet<String>) {
        if groups.is_empty() {
            return;
        }
        let mut resources: HashMap<&str, Vec<CustomResource>> = HashMap::new();
        for served in all.values().filter(|served| groups.contains(&served.group)) {
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
        let all = self.served.lock();
        let rows = all.values().flat_map(|served| &served.resource.served);
        rows.map(|row| (row.row().group.to_owned(), row.row().version.to_owned())).collect()
    }

    /// What is served, as it changes.
    pub(super) fn shared(&self) -> SharedKinds {
        self.served.clone()
    }

    /// Whether the resource of a definition is served as the definition has it, or is built in.
    pub(super) fn serves(&self, definition: &Definition) -> bool {
        let all = self.served.lock();
        let served = all.get(&definition.name);
        definition.is_of_builtin() || served.is_some_and(|served| served.made_from.is_of(definition))
    }

    /// The row that the objects of a definition are stored by.
    pub(super) fn stored_row(&self, definition: &Definition) -> Option<Handle> {
        self.served.lock().get(&definition.name).map(|served| served.resource.stored.clone())
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
    cel_times: &Arc<CelMetrics>,
) -> Option<(CustomResource, Option<Arc<dyn Convert>>)> {
    let read = definition.outline();
    let read =
        read.inspect_err(|error| tracing::error!(name = definition.name, %error, "a definition is no JSON"));
    let outline = read.ok()?;
    let spec = child(outline.value.as_object()?, "spec")?;
    // What is not established yet will be written once more, and its bytes go then.
    let stays = definition.is("Established");
    let text = |number: usize| {
        let at = outline.left.get(number)?.clone();
        Some(if stays {
            SchemaText::shared(definition.bytes.slice(at))
        } else {
            SchemaText::packed(definition.bytes.get(at)?)
        })
    };
    let outside = WebhookConversion::read(&definition.name, spec, webhooks);
    let kind = CustomKind::of_stored((spec, &text), &definition.accepted, made_from.terminating, minor);
    let kind = kind.timed(cel_times);
    let definition = catalog::Definition {
        group: &definition.group,
        names: &definition.accepted,
        namespaced: definition.namespaced,
        kind: Arc::new(kind),
    };
    Some((definition.resource()?, outside))
}
