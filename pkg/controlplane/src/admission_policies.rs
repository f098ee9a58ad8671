//! Dependencies of the policy plugins: the compiled policies and bindings, and their params.

mod params;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use ::api::resources::{self, Handle};
use admission::dynamic::DynamicAdmissionDeps;
use admission::policy::{
    Binding, Mutations, Policies, Policy, PolicyDeps, PolicyMetrics, PolicySource, Rules, Validations,
};
use bytes::Bytes;
use component_base::metrics::MetricsRegistry;
use endpoints::routing::served::ServedApi;
use registry::Registry;
use registry::informer::{Informer, InformerTask, ObjectChange, Projection};

use crate::admission_manifests::{self, ConcatCache, Source};

use params::StoredParams;

const GROUP: &str = "admissionregistration.k8s.io";

/// Policies by name, each with the bytes that it was compiled from.
type CompiledPolicies<E> = BTreeMap<Box<str>, (Bytes, Arc<Policy<E>>)>;

/// The policies of one kind and their bindings.
pub(crate) struct PolicyProjection<E> {
    policies: BTreeMap<Box<str>, Arc<Policy<E>>>,
    bindings: BTreeMap<Box<str>, Arc<Binding>>,
    /// All of them, built lazily after a change.
    all: OnceLock<Arc<Policies<E>>>,
    /// Compiled policies, shared by all copies of this view. Every copy receives each change, and compiling
    /// is slow.
    compiled: Arc<Mutex<CompiledPolicies<E>>>,
}

impl<E> Default for PolicyProjection<E> {
    fn default() -> Self {
        PolicyProjection {
            policies: BTreeMap::new(),
            bindings: BTreeMap::new(),
            all: OnceLock::new(),
            compiled: Arc::default(),
        }
    }
}

impl<E> Clone for PolicyProjection<E> {
    fn clone(&self) -> Self {
        PolicyProjection {
            policies: self.policies.clone(),
            bindings: self.bindings.clone(),
            all: self.all.clone(),
            compiled: Arc::clone(&self.compiled),
        }
    }
}

impl<E: Rules> PolicyProjection<E> {
    fn all(&self) -> Arc<Policies<E>> {
        let all = || Policies::new(self.policies.values().cloned(), self.bindings.values().cloned());
        Arc::clone(self.all.get_or_init(|| Arc::new(all())))
    }

    /// Returns the changed policy. Compiles it unless another copy has already done so.
    fn policy(&self, change: &ObjectChange) -> Option<Arc<Policy<E>>> {
        let compiled = || self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(bytes) = change.bytes() else {
            compiled().remove(change.name());
            return None;
        };
        if let Some((of, policy)) = compiled().get(change.name())
            && of == bytes
        {
            return Some(Arc::clone(policy));
        }
        let policy = Arc::new(Policy::read(change.object()?));
        compiled().insert(change.name().into(), (bytes.clone(), Arc::clone(&policy)));
        Some(policy)
    }
}

impl<E: Rules> Projection for PolicyProjection<E> {
    fn apply(&mut self, change: &ObjectChange) {
        self.all = OnceLock::new();
        let name = change.name();
        if change.row().plural.ends_with("bindings") {
            match change.object() {
                Some(binding) => _ = self.bindings.insert(name.into(), Arc::new(Binding::read(binding))),
                None => _ = self.bindings.remove(name),
            }
            return;
        }
        match self.policy(change) {
            Some(policy) => _ = self.policies.insert(name.into(), policy),
            None => _ = self.policies.remove(name),
        }
    }
}

/// Task that keeps policies up to date.
#[must_use = "policies that are not kept current are never known"]
pub(crate) struct PolicyTask(
    InformerTask<PolicyProjection<Validations>>,
    InformerTask<PolicyProjection<Mutations>>,
);

impl PolicyTask {
    /// Runs until dropped.
    pub(crate) async fn run(self) {
        tokio::join!(self.0.run(), self.1.run());
    }
}

/// Reader of the current policies.
#[derive(Clone)]
pub(crate) struct ConfiguredPolicies {
    validating: Informer<PolicyProjection<Validations>>,
    mutating: Informer<PolicyProjection<Mutations>>,
    validating_on_disk: ManifestSource<Validations>,
    mutating_on_disk: ManifestSource<Mutations>,
}

/// The manifest source, if configured, with the cached concatenation of manifests and stored policies.
type ManifestSource<E> = Option<(Arc<Source<Policies<E>>>, Arc<ConcatCache<Policies<E>>>)>;

impl ConfiguredPolicies {
    /// Waits until all validating policies are loaded.
    pub(crate) async fn ready(&self) {
        self.validating.ready().await;
    }

    /// Adds policies from manifests. They precede the stored ones.
    pub(crate) fn with_manifests(
        self,
        mutating: Option<Arc<Source<Policies<Mutations>>>>,
        validating: Option<Arc<Source<Policies<Validations>>>>,
    ) -> Self {
        ConfiguredPolicies {
            mutating_on_disk: mutating.map(|source| (source, Arc::default())),
            validating_on_disk: validating.map(|source| (source, Arc::default())),
            ..self
        }
    }

    /// Creates the reader for a registry, and the task that keeps it up to date.
    pub(crate) fn new(registry: &Registry) -> (Self, PolicyTask) {
        let rows = |plurals: [&str; 2]| {
            let rows = plurals.into_iter().filter_map(|plural| resources::find(GROUP, "v1", plural, ""));
            rows.map(Handle::from).collect()
        };
        let of_validating = rows(["validatingadmissionpolicies", "validatingadmissionpolicybindings"]);
        let of_mutating = rows(["mutatingadmissionpolicies", "mutatingadmissionpolicybindings"]);
        let (validating, following) = Informer::new(registry, "validating policies", of_validating);
        let (mutating, following_mutating) = Informer::new(registry, "mutating policies", of_mutating);
        let configured =
            ConfiguredPolicies { validating, mutating, validating_on_disk: None, mutating_on_disk: None };
        (configured, PolicyTask(following, following_mutating))
    }
}

/// Builds the dependencies of the policy plugins.
pub(crate) fn policy_deps(
    source: ConfiguredPolicies,
    served: &Arc<ServedApi>,
    registry: &Registry,
    deps: DynamicAdmissionDeps,
    metrics: &MetricsRegistry,
) -> PolicyDeps {
    PolicyDeps {
        source: Arc::new(source),
        params: Arc::new(StoredParams::new(Arc::clone(served), registry.clone())),
        deps,
        metrics: Arc::new(PolicyMetrics::new(metrics)),
    }
}

fn read<E: Rules>(
    informer: &Informer<PolicyProjection<E>>,
    on_disk: &ManifestSource<E>,
) -> Option<Arc<Policies<E>>>
where
    Policies<E>: admission_manifests::CompileManifests,
{
    let stored = informer.is_ready().then(|| informer.read(PolicyProjection::all))?;
    Some(match on_disk {
        Some((source, joined)) => joined.get_or_join(source.current(), stored, Policies::concat),
        None => stored,
    })
}

impl PolicySource for ConfiguredPolicies {
    fn validating(&self) -> Option<Arc<Policies<Validations>>> {
        read(&self.validating, &self.validating_on_disk)
    }

    fn mutating(&self) -> Option<Arc<Policies<Mutations>>> {
        read(&self.mutating, &self.mutating_on_disk)
    }

    fn validating_manifests(&self) -> Option<Arc<Policies<Validations>>> {
        self.validating_on_disk.as_ref().map(|(source, _)| source.current())
    }

    fn mutating_manifests(&self) -> Option<Arc<Policies<Mutations>>> {
        self.mutating_on_disk.as_ref().map(|(source, _)| source.current())
    }
}
