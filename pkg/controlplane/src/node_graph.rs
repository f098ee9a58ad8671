//! Node graph of stored objects for the node authorizer, and the rules for all nodes.

mod metrics;

use std::sync::Arc;

use ::api::catalog::Catalog;
use ::api::references::{Kind, Referrer};
use ::api::resources::{self, Handle};
use authorization::Mode;
use authorization::node::{Features, Graph, GraphSource, NodeOwnedKind, PodUse, Policy, Vertex, VolumeUse};
use authorization::rbac::Rule;
use component_base::features::{Gate, Gates};
use component_base::metrics::MetricsRegistry;
use futures::future::BoxFuture;
use registry::informer::{Informer, ObjectChange, OnDemandInformer, Projection};
use registry::{Registry, meta};
use schema::proto::Envelope;

use crate::config::Config;
use controllers::bootstrap::objects;
use metrics::Durations;

/// The role with the rules for all nodes. Upstream has no binding for it and passes its rules to the node
/// authorizer.
const ROLE: &str = "system:node";

/// Sources of the graph: group, version, resource, and the label value in upstream's metric.
const SOURCES: [(&str, &str, &str, &str); 5] = [
    ("", "v1", "pods", "Pod"),
    ("", "v1", "persistentvolumes", "PV"),
    ("storage.k8s.io", "v1", "volumeattachments", "VolumeAttachment"),
    ("resource.k8s.io", "v1", "resourceslices", "ResourceSlice"),
    ("certificates.k8s.io", "v1beta1", "podcertificaterequests", "PodCertificateRequest"),
];

/// Node graph that applies object changes.
#[derive(Clone, Default)]
pub(crate) struct GraphProjection {
    graph: Graph,
    durations: Durations,
}

impl Projection for GraphProjection {
    fn apply(&mut self, change: &ObjectChange) {
        let started = tokio::time::Instant::now();
        let storage = change.row().storage.as_ref();
        let envelope = change.bytes().and_then(|bytes| Envelope::parse(bytes).ok());
        let referrer = envelope.zip(storage).map(|(read, row)| Referrer::message(row.message, read.raw));
        let plural = change.row().plural;
        if plural == "pods" && referrer.as_ref().is_some_and(|pod| has_pod(&self.graph, change, pod)) {
            return;
        }
        if !apply_object(&mut self.graph, change, referrer.as_ref()) {
            // The encoded object is unreadable in place; the decoded tree contains more.
            apply_object(&mut self.graph, change, change.object().map(Referrer::tree).as_ref());
        }
        let source = SOURCES.iter().position(|(_, _, resource, _)| *resource == plural);
        self.durations.add(source.unwrap_or_default(), referrer.is_none(), started.elapsed());
    }
}

/// True if the graph already contains the node and the references of a changed pod. Most changes are of status and
/// metadata; upstream's `updatePod` ignores them, too.
fn has_pod(graph: &Graph, change: &ObjectChange, pod: &Referrer<'_>) -> bool {
    let envelope = change.previous_bytes().and_then(|bytes| Envelope::parse(bytes).ok());
    let earlier = envelope.zip(change.row().storage.as_ref());
    let earlier = earlier.map(|(read, row)| Referrer::message(row.message, read.raw));
    earlier.is_some_and(|earlier| pod.has_references_of(&earlier))
        && graph.reaches(pod.node_name(), Vertex::Pod, change.namespace(), change.name())
}

/// Updates an object in the graph; `None` if it is deleted. Returns false if it was unreadable.
fn apply_object(graph: &mut Graph, change: &ObjectChange, referrer: Option<&Referrer<'_>>) -> bool {
    let namespace = change.namespace();
    let name = change.name();
    let node = referrer.map(Referrer::node_name).filter(|node| !node.is_empty());
    match change.row().plural {
        "pods" => {
            let owned = referrer.filter(|_| node.is_some()).map(references).unwrap_or_default();
            let mut references: Vec<(Kind, &str)> =
                owned.iter().map(|(kind, name)| (*kind, &**name)).collect();
            references.sort_unstable();
            references.dedup();
            let pod = node.map(|node| PodUse { node, references: &references });
            graph.set_pod(namespace, name, pod);
        }
        "persistentvolumes" => {
            let mut secrets = referrer.map(Referrer::secrets_of_persistent_volume).unwrap_or_default();
            secrets.sort_unstable();
            secrets.dedup();
            let claim = referrer.and_then(Referrer::claim);
            graph.set_volume(name, claim.map(|claim| VolumeUse { claim, secrets: &secrets }));
        }
        "volumeattachments" => graph.set_owned(NodeOwnedKind::VolumeAttachment, namespace, name, node),
        "resourceslices" => graph.set_owned(NodeOwnedKind::ResourceSlice, namespace, name, node),
        _ => graph.set_owned(NodeOwnedKind::PodCertificateRequest, namespace, name, node),
    }
    referrer.is_none_or(Referrer::is_certain)
}

/// Returns the references of a pod. Nodes write mirror pods, so mirror pods must not grant any reads.
/// Admission also rejects mirror pods with references.
fn references<'r>(pod: &'r Referrer<'_>) -> Vec<(Kind, std::borrow::Cow<'r, str>)> {
    if pod.is_mirror() { Vec::new() } else { pod.of_pod() }
}

/// Reader of the current graph.
#[derive(Clone)]
struct StoredGraph(OnDemandInformer<GraphProjection>);

impl GraphSource for StoredGraph {
    fn start_loading(&self) -> Option<BoxFuture<'_, ()>> {
        self.0.start_loading()
    }

    fn visit(&self, look: &mut dyn FnMut(&Graph)) {
        self.0.read(|view| look(&view.graph));
    }
}

/// The graph of a server, if the node authorizer is enabled.
pub(crate) struct Nodes(Option<(StoredGraph, BoxFuture<'static, ()>)>);

impl Nodes {
    /// Creates the graph for a registry if the node authorizer is enabled. Kinds that `catalog` does not
    /// serve have no objects. With `later`, the graph is compiled when that future completes or on the first
    /// decision, which waits for it.
    pub(crate) fn new(
        config: &Config,
        registry: &Registry,
        catalog: &Catalog,
        later: Option<BoxFuture<'static, ()>>,
    ) -> Self {
        if !config.authorization.configuration.has(Mode::Node) {
            return Nodes(None);
        }
        let rows = SOURCES.iter().filter_map(|(group, version, plural, _)| {
            resources::find(group, version, plural, "").filter(|row| catalog.serves(row))
        });
        let (informer, task) = Informer::new(registry, "nodes", rows.map(Handle::from).collect());
        let (graph, followed) = OnDemandInformer::new(informer, task, later);
        Nodes(Some((StoredGraph(graph), followed)))
    }

    /// Returns it as the authorizer's trait object.
    pub(crate) fn graph(&self) -> Option<Arc<dyn GraphSource>> {
        self.0.as_ref().map(|(graph, _)| Arc::new(graph.clone()) as Arc<dyn GraphSource>)
    }

    /// Registers the metrics of the graph.
    pub(crate) fn register_metrics(&self, registry: &MetricsRegistry) {
        let Some((graph, _)) = &self.0 else { return };
        let graph = graph.clone();
        registry.collect(&[&metrics::ACTIONS], move |page| {
            graph.0.read(|view| view.durations.write(SOURCES.map(|(_, _, _, name)| name), page));
        });
    }

    /// Returns a future that completes when all objects are loaded, unless decisions wait for them, and the
    /// task that keeps the graph up to date. Before that, nodes are related to no objects.
    pub(crate) fn split(self) -> (BoxFuture<'static, ()>, BoxFuture<'static, ()>) {
        match self.0 {
            Some((graph, followed)) => (Box::pin(async move { graph.0.ready().await }), followed),
            None => (Box::pin(std::future::ready(())), Box::pin(std::future::ready(()))),
        }
    }
}

/// Returns the rules for all nodes.
///
/// # Errors
/// The built-in bootstrap data is invalid.
pub(crate) fn policy(gates: Gates) -> Result<Policy, controllers::Error> {
    let roles = objects::of_kind("rbac.authorization.k8s.io/v1", "ClusterRole", &gates)?;
    let role = roles.iter().find(|role| meta::text(role, "name") == ROLE);
    let rules = role
        .map(Rule::all_of)
        .ok_or_else(|| controllers::Error::Invalid(format!("there is no role {ROLE}")))?;
    let pod_certificates = gates.enabled(Gate::PodCertificateRequest);
    let service_accounts =
        pod_certificates || gates.enabled(Gate::KubeletServiceAccountTokenForCredentialProviders);
    let volume_health = gates.enabled(Gate::CSIVolumeHealth);
    Ok(Policy { rules, features: Features { service_accounts, pod_certificates, volume_health } })
}

#[cfg(test)]
mod tests;
