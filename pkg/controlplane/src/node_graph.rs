//! Which stored objects belong to which node, as the node authorizer reads it, and what holds for all nodes.

mod metrics;

use std::sync::Arc;

use ::api::catalog::Catalog;
use ::api::references::{Kind, Referrer};
use ::api::resources::{self, Handle};
use authorization::Mode;
use authorization::node::{Features, Graph, Graphs, Owned, PodUse, Policy, VolumeUse};
use authorization::rbac::Rule;
use component_base::features::{Gate, Gates};
use futures::future::BoxFuture;
use registry::informer::{Informer, ObjectChange, Projection, WhenAsked};
use registry::{Registry, meta};
use schema::proto::Envelope;
use server::metrics::Collector;

use crate::config::Config;
use controllers::bootstrap::objects;
use metrics::Durations;

/// The role with the rules for all nodes; upstream binds it to nobody and gives its rules to its authorizer.
const ROLE: &str = "system:node";

/// What the graph is made of, as group, version, resource, and what upstream's metric calls its changes.
const SOURCES: [(&str, &str, &str, &str); 5] = [
    ("", "v1", "pods", "Pod"),
    ("", "v1", "persistentvolumes", "PV"),
    ("storage.k8s.io", "v1", "volumeattachments", "VolumeAttachment"),
    ("resource.k8s.io", "v1", "resourceslices", "ResourceSlice"),
    ("certificates.k8s.io", "v1beta1", "podcertificaterequests", "PodCertificateRequest"),
];

/// A graph that takes changes of objects.
#[derive(Clone, Default)]
pub(crate) struct Compiled {
    graph: Graph,
    durations: Durations,
}

impl Projection for Compiled {
    fn apply(&mut self, change: &ObjectChange) {
        let started = tokio::time::Instant::now();
        let storage = change.row().storage.as_ref();
        let envelope = change.bytes().and_then(|bytes| Envelope::parse(bytes).ok());
        let referrer = envelope.zip(storage).map(|(read, row)| Referrer::message(row.message, read.raw));
        let plural = change.row().plural;
        if !take(&mut self.graph, change, referrer.as_ref()) {
            // Something cannot be read where it is. A tree knows more.
            take(&mut self.graph, change, change.object().map(Referrer::tree).as_ref());
        }
        let source = SOURCES.iter().position(|(_, _, resource, _)| *resource == plural);
        self.durations.add(source.unwrap_or_default(), referrer.is_none(), started.elapsed());
    }
}

/// Has a graph take in an object as it is now, `None` if it is gone. Whether it could be read.
fn take(graph: &mut Graph, change: &ObjectChange, referrer: Option<&Referrer<'_>>) -> bool {
    let (namespace, name) = (change.namespace(), change.name());
    let node = referrer.map(Referrer::node_name).filter(|node| !node.is_empty());
    match change.row().plural {
        "pods" => {
            let found = referrer.map(references).unwrap_or_default();
            let mut references: Vec<(Kind, &str)> =
                found.iter().map(|(kind, name)| (*kind, &**name)).collect();
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
        "volumeattachments" => graph.set_owned(Owned::VolumeAttachment, namespace, name, node),
        "resourceslices" => graph.set_owned(Owned::ResourceSlice, namespace, name, node),
        _ => graph.set_owned(Owned::PodCertificateRequest, namespace, name, node),
    }
    referrer.is_none_or(Referrer::is_certain)
}

/// What a pod refers to. Nodes write mirror pods, so those must never let a node read anything; admission refuses
/// such that refer to something, too.
fn references<'r>(pod: &'r Referrer<'_>) -> Vec<(Kind, std::borrow::Cow<'r, str>)> {
    if pod.is_mirror() { Vec::new() } else { pod.of_pod() }
}

/// Reads the graph that is current.
#[derive(Clone)]
struct StoredGraph(WhenAsked<Compiled>);

impl Graphs for StoredGraph {
    fn filling(&self) -> Option<BoxFuture<'_, ()>> {
        self.0.filling()
    }

    fn look(&self, look: &mut dyn FnMut(&Graph)) {
        self.0.read(|view| look(&view.graph));
    }
}

impl Collector for StoredGraph {
    fn collect(&self, out: &mut String) {
        self.0.read(|view| view.durations.write(SOURCES.map(|(_, _, _, name)| name), out));
    }
}

/// The graph of a server, if anybody asks it.
pub(crate) struct Nodes(Option<(StoredGraph, BoxFuture<'static, ()>)>);

impl Nodes {
    /// The graph of what a registry stores, if nodes are authorized by it. What `catalog` does not serve has no
    /// objects. With `later`, it is compiled when that has come or somebody decides by it, who waits for it.
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
        let followed = Informer::new(registry, "nodes", rows.map(Handle::from).collect());
        let (graph, followed) = WhenAsked::new(followed, later);
        Nodes(Some((StoredGraph(graph), followed)))
    }

    /// As the authorizer takes it.
    pub(crate) fn graph(&self) -> Option<Arc<dyn Graphs>> {
        self.0.as_ref().map(|(graph, _)| Arc::new(graph.clone()) as Arc<dyn Graphs>)
    }

    /// Its figures.
    pub(crate) fn collector(&self) -> Option<Arc<dyn Collector>> {
        self.0.as_ref().map(|(graph, _)| Arc::new(graph.clone()) as Arc<dyn Collector>)
    }

    /// What waits until all objects are known (until then no node has to do with any), unless those who decide by the graph
    /// do, and what keeps it current while it runs.
    pub(crate) fn split(self) -> (BoxFuture<'static, ()>, BoxFuture<'static, ()>) {
        match self.0 {
            Some((graph, followed)) => (Box::pin(async move { graph.0.ready().await }), followed),
            None => (Box::pin(std::future::ready(())), Box::pin(std::future::ready(()))),
        }
    }
}

/// What holds for all nodes.
///
/// # Errors
/// The data of this server are not what they should be.
pub(crate) fn policy(gates: Gates) -> Result<Policy, String> {
    let roles = objects::of_kind("rbac.authorization.k8s.io/v1", "ClusterRole")?;
    let role = roles.iter().find(|role| meta::text(role, "name") == ROLE);
    let mut rules = role.map(Rule::all_of).ok_or_else(|| format!("there is no role {ROLE}"))?;
    let read = |resource: &str| Rule {
        verbs: ["get", "list", "watch"].map(str::to_owned).to_vec(),
        groups: vec!["certificates.k8s.io".to_owned()],
        resources: vec![resource.to_owned()],
        ..Rule::default()
    };
    if gates.enabled(Gate::ClusterTrustBundle) {
        rules.push(read("clustertrustbundles"));
    }
    let pod_certificates = gates.enabled(Gate::PodCertificateRequest);
    let service_accounts =
        pod_certificates || gates.enabled(Gate::KubeletServiceAccountTokenForCredentialProviders);
    let selectors = gates.enabled(Gate::AuthorizeNodeWithSelectors);
    Ok(Policy { rules, features: Features { selectors, service_accounts, pod_certificates } })
}

#[cfg(test)]
mod tests;
