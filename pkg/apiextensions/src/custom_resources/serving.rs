//! Installs the resources of CRDs.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ::api::catalog::{self, CustomResource, Group};
use ::api::cel_times::CelMetrics;
use ::api::resources::Handle;
use ::api::resources::custom::{CustomKind, Names, SchemaText};
use ::api::tree::child;
use apimachinery::kube_version;

use registry::generic::Convert;

use super::conversion::{ConversionDeps, WebhookConversion};
use super::definitions::Definition;
use super::metrics::{DefinitionMetrics, Reason};
use crate::custom_kinds::CustomKinds;

/// Keeps the served resources in sync with the CRDs.
pub(super) struct Serving {
    kinds: CustomKinds,
    webhooks: ConversionDeps,
    metrics: Arc<DefinitionMetrics>,
    /// Minor version that selects the CEL features of validation rules.
    minor: u32,
    served: SharedKinds,
    /// Resources that the parent server served for the same CRDs.
    parent_kinds: KindsSnapshot,
}

/// Served resources by CRD name. Cheap to clone.
#[derive(Clone, Default)]
pub(super) struct SharedKinds(Arc<Mutex<BTreeMap<String, Arc<ServedResource>>>>);

/// Snapshot of served resources, for a server with the same CRDs. Cheap to clone.
#[derive(Clone, Default)]
pub(super) struct KindsSnapshot(Arc<BTreeMap<String, Arc<ServedResource>>>);

impl SharedKinds {
    /// Returns a snapshot.
    pub(super) fn now(&self) -> KindsSnapshot {
        KindsSnapshot(Arc::new(self.lock().clone()))
    }

    /// Every change under the lock is complete, so a poisoned lock is still valid.
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Arc<ServedResource>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl KindsSnapshot {
    /// Returns the resource of an unchanged CRD, unless a webhook converts it.
    fn of(&self, definition: &Definition) -> Option<&Arc<ServedResource>> {
        let cached = self.0.get(&definition.name)?;
        (!cached.converted && cached.inputs.is_of(definition)).then_some(cached)
    }
}

/// Result of an update.
pub(super) struct Outcome {
    /// True if no CRD was skipped.
    pub(super) complete: bool,
    /// True if the served resources have changed.
    pub(super) changed: bool,
}

/// A served resource, with the CRD fields that it depends on.
pub(crate) struct ServedResource {
    group: String,
    inputs: ResourceInputs,
    resource: CustomResource,
    /// True if a webhook converts between its versions. The webhook's client belongs to a single server.
    converted: bool,
}

/// CRD fields that determine the resource.
#[derive(PartialEq, Eq, Clone)]
struct ResourceInputs {
    uid: String,
    generation: i64,
    names: Names,
    /// True if creations are no longer allowed.
    terminating: bool,
}

impl ResourceInputs {
    fn of(definition: &Definition) -> Self {
        ResourceInputs {
            uid: definition.uid.clone(),
            generation: definition.generation,
            names: definition.accepted_names.clone(),
            terminating: definition.is_terminating(),
        }
    }

    /// True if the resource is up to date with a CRD. Runs for all resources whenever one CRD changes.
    fn is_of(&self, definition: &Definition) -> bool {
        self.generation == definition.generation
            && self.uid == definition.uid
            && self.names == definition.accepted_names
            && self.terminating == definition.is_terminating()
    }

    /// True if stored objects are decoded in the same way.
    fn reads_as(&self, other: &ResourceInputs) -> bool {
        (&self.uid, self.generation, &self.names) == (&other.uid, other.generation, &other.names)
    }
}

/// A resource, with the converter between its versions, if needed.
type InstalledResource = (Arc<ServedResource>, Option<Arc<dyn Convert>>);

impl Serving {
    pub(super) fn new(
        kinds: CustomKinds,
        webhooks: ConversionDeps,
        metrics: Arc<DefinitionMetrics>,
        minor: u32,
        parent_kinds: KindsSnapshot,
    ) -> Self {
        Serving { kinds, webhooks, metrics, minor, served: SharedKinds::default(), parent_kinds }
    }

    /// Serves exactly these CRDs.
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
            if before.is_some_and(|before| before.inputs.is_of(definition)) {
                definition.drop_outline();
                continue;
            }
            let Some((served, outside)) = self.installed_resource(definition) else {
                complete = false;
                continue;
            };
            if !before.is_some_and(|before| before.inputs.reads_as(&served.inputs)) {
                new.push((served.resource.clone(), outside));
            }
            let reason = if before.is_some() { Reason::Update } else { Reason::Add };
            self.metrics.changed(&definition.name, &definition.group, reason, versions(&served.resource));
            groups.insert(definition.group.clone());
            all.insert(definition.name.clone(), served);
        }
        let removed: Vec<String> =
            all.keys().filter(|name| !stays.contains(name.as_str())).cloned().collect();
        let removed = removed.into_iter().filter_map(|name| all.remove_entry(&name));
        let removed: Vec<(String, Arc<ServedResource>)> = removed.collect();
        for (name, served) in &removed {
            self.metrics.changed(name, &served.group, Reason::Remove, versions(&served.resource));
            groups.insert(served.group.clone());
        }
        if !new.is_empty() {
            self.kinds.install(&new);
        }
        self.publish(&all, &groups);
        // Requests no longer find it at this point.
        removed.iter().for_each(|(_, served)| self.kinds.retire(&served.resource));
        Outcome { complete, changed: !groups.is_empty() }
    }

    /// Marks all CRDs that existed at start as served.
    pub(super) fn complete(&self) {
        self.kinds.complete();
    }

    fn installed_resource(&self, definition: &Definition) -> Option<InstalledResource> {
        if let Some(existing) = self.parent_kinds.of(definition) {
            return Some((Arc::clone(existing), None));
        }
        let inputs = ResourceInputs::of(definition);
        let rows = rows(definition, &inputs, self.minor, &self.webhooks, &self.kinds.cel_times);
        let (resource, outside) = rows?;
        let group = definition.group.clone();
        let converted = outside.is_some();
        Some((Arc::new(ServedResource { group, inputs, resource, converted }), outside))
    }

    fn publish(&self, all: &BTreeMap<String, Arc<ServedResource>>, groups: &BTreeSet<String>) {
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

    /// Returns the served group versions.
    pub(super) fn versions(&self) -> BTreeSet<(String, String)> {
        let all = self.served.lock();
        let rows = all.values().flat_map(|served| &served.resource.served);
        rows.map(|row| (row.row().group.to_owned(), row.row().version.to_owned())).collect()
    }

    /// Returns the shared map of served resources.
    pub(super) fn shared(&self) -> SharedKinds {
        self.served.clone()
    }

    /// True if the resource of a CRD is served in its current form, or is built in.
    pub(super) fn serves(&self, definition: &Definition) -> bool {
        let all = self.served.lock();
        let served = all.get(&definition.name);
        definition.is_of_builtin() || served.is_some_and(|served| served.inputs.is_of(definition))
    }

    /// Returns the resource under which the objects of a CRD are stored.
    pub(super) fn stored_row(&self, definition: &Definition) -> Option<Handle> {
        self.served.lock().get(&definition.name).map(|served| served.resource.stored.clone())
    }
}

/// Returns the served versions of a resource, without duplicates from subresources.
fn versions(resource: &CustomResource) -> impl Iterator<Item = &str> {
    let versions: BTreeSet<&str> = resource.served.iter().map(|row| row.row().version).collect();
    versions.into_iter()
}

/// Builds the resource and the converter, if needed. An unreadable CRD is logged and not served.
fn rows(
    definition: &Definition,
    made_from: &ResourceInputs,
    minor: u32,
    webhooks: &ConversionDeps,
    cel_times: &Arc<CelMetrics>,
) -> Option<(CustomResource, Option<Arc<dyn Convert>>)> {
    let read = definition.outline();
    let read =
        read.inspect_err(|error| tracing::error!(name = definition.name, %error, "a definition is no JSON"));
    let outline = read.ok()?;
    let spec = child(outline.value.as_object()?, "spec")?;
    // A CRD that is not established yet will be written again, which replaces its bytes.
    let stays = definition.is("Established");
    let text = |number: usize| {
        let at = outline.skipped.get(number)?.clone();
        Some(if stays {
            SchemaText::shared(definition.bytes.slice(at))
        } else {
            SchemaText::packed(definition.bytes.get(at)?)
        })
    };
    let outside = WebhookConversion::read(&definition.name, spec, webhooks);
    let kind = CustomKind::of_stored(spec, &text, &definition.accepted_names, made_from.terminating, minor);
    let kind = kind.timed(cel_times);
    let definition = catalog::Definition {
        group: &definition.group,
        names: &definition.accepted_names,
        namespaced: definition.namespaced,
        kind: Arc::new(kind),
    };
    Some((definition.resource()?, outside))
}
