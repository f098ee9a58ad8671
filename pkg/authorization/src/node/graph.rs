//! Graph of objects and the nodes that may read them, updated incrementally.
//!
//! ```text
//! ConfigMap, Secret, ServiceAccount, ResourceClaim ◀── pod ──▶ node
//!                         PersistentVolumeClaim ◀──┘
//!                 Secret ◀── PersistentVolume ──▶┘ (is bound to it)
//! VolumeAttachment, ResourceSlice, PodCertificateRequest ─────▶ node
//! ```
//!
//! References of pods are counted by (object, node). A decision is therefore one look-up, for any number of
//! pods that share the object. A volume is found through its claim, and its secrets are counted for every
//! node of the claim. Upstream searches the graph there.

use std::collections::HashMap;

use api::references::Kind;

use super::interner::{Id, Interner};

/// Kind of an object with a node name in its spec.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NodeOwnedKind {
    VolumeAttachment,
    ResourceSlice,
    PodCertificateRequest,
}

/// Kind of an object that a node may need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Vertex {
    Pod,
    Volume,
    /// An object that pods refer to.
    Referred(Kind),
    /// An object of one node.
    Owned(NodeOwnedKind),
}

/// A pod on a node.
#[derive(Debug, Clone, Copy)]
pub struct PodUse<'a> {
    pub node: &'a str,
    /// Referenced objects in the pod's namespace, sorted and without duplicates.
    pub references: &'a [(Kind, &'a str)],
}

/// A persistent volume that is bound to a claim.
#[derive(Debug, Clone, Copy)]
pub struct VolumeUse<'a> {
    /// Namespace and name of the claim.
    pub claim: (&'a str, &'a str),
    /// Namespaces and names of the secrets that nodes need for the volume, sorted and without duplicates.
    pub secrets: &'a [(&'a str, &'a str)],
}

/// Namespace and name.
type Key = (Id, Id);

#[derive(Debug, Clone)]
struct Pod {
    node: Id,
    references: Box<[(Kind, Id)]>,
}

#[derive(Debug, Clone)]
struct Volume {
    claim: Key,
    secrets: Box<[Key]>,
}

/// A claim that a pod or volume refers to.
#[derive(Debug, Clone, Default)]
struct Claim {
    /// The nodes of its pods, sorted, with the number of pods.
    nodes: Vec<(Id, u32)>,
    /// The volumes bound to it, unsorted.
    volumes: Vec<Id>,
}

/// The objects of a cluster and their nodes.
#[derive(Debug, Clone, Default)]
pub struct Graph {
    /// Interned namespaces, object names and node names.
    texts: Interner,
    pods: HashMap<Key, Pod>,
    /// Number of references from a node to an object, except claims.
    reference_counts: HashMap<(Kind, Key, Id), u32>,
    claims: HashMap<Key, Claim>,
    volumes: HashMap<Id, Volume>,
    owned: HashMap<(NodeOwnedKind, Key), Id>,
}

impl Graph {
    /// True if an object is related to a node.
    pub fn reaches(&self, node: &str, vertex: Vertex, namespace: &str, name: &str) -> bool {
        self.lookup(node, vertex, namespace, name).unwrap_or(false)
    }

    fn lookup(&self, node: &str, vertex: Vertex, namespace: &str, name: &str) -> Option<bool> {
        let node = self.texts.find(node)?;
        let name = self.texts.find(name)?;
        if vertex == Vertex::Volume {
            return Some(self.claim_is_on(self.volumes.get(&name)?.claim, node));
        }
        let key = (self.texts.find(namespace)?, name);
        Some(match vertex {
            Vertex::Pod => self.pods.get(&key)?.node == node,
            Vertex::Owned(owned) => *self.owned.get(&(owned, key))? == node,
            Vertex::Volume | Vertex::Referred(Kind::Claim) => self.claim_is_on(key, node),
            Vertex::Referred(kind) => self.reference_counts.contains_key(&(kind, key, node)),
        })
    }

    fn claim_is_on(&self, claim: Key, node: Id) -> bool {
        self.claims.get(&claim).is_some_and(|claim| position(&claim.nodes, node).is_ok())
    }

    /// Updates a pod. `None` if it is deleted or not bound to a node. The cost is proportional to its old and
    /// new references.
    pub fn set_pod(&mut self, namespace: &str, name: &str, pod: Option<PodUse<'_>>) {
        if pod.is_some_and(|pod| self.is_known(namespace, name, pod)) {
            return;
        }
        if let (Some(namespace), Some(name)) = (self.texts.find(namespace), self.texts.find(name))
            && let Some(former) = self.pods.remove(&(namespace, name))
        {
            for &(kind, referred) in &former.references {
                self.remove_use(kind, (namespace, referred), former.node);
                self.texts.release(referred);
            }
            for id in [namespace, name, former.node] {
                self.texts.release(id);
            }
        }
        let Some(pod) = pod else { return };
        let key = (self.texts.intern(namespace), self.texts.intern(name));
        let node = self.texts.intern(pod.node);
        let references: Box<[(Kind, Id)]> =
            pod.references.iter().map(|&(kind, name)| (kind, self.texts.intern(name))).collect();
        for &(kind, referred) in &references {
            self.uses(kind, (key.0, referred), node);
        }
        self.pods.insert(key, Pod { node, references });
    }

    /// True if nothing relevant has changed, as in most status updates.
    fn is_known(&self, namespace: &str, name: &str, pod: PodUse<'_>) -> bool {
        let key = self.texts.find(namespace).zip(self.texts.find(name));
        let Some(cached) = key.and_then(|key| self.pods.get(&key)) else { return false };
        let cached_references = cached.references.iter().map(|&(kind, id)| (kind, self.texts.text(id)));
        self.texts.text(cached.node) == pod.node && cached_references.eq(pod.references.iter().copied())
    }

    fn uses(&mut self, kind: Kind, key: Key, node: Id) {
        if kind != Kind::Claim {
            return self.add_reference(kind, key, node);
        }
        let claim = self.claims.entry(key).or_default();
        match position(&claim.nodes, node) {
            Ok(at) => {
                if let Some((_, pods)) = claim.nodes.get_mut(at) {
                    *pods += 1;
                }
            }
            Err(at) => {
                claim.nodes.insert(at, (node, 1));
                for secret in self.secrets_of(key) {
                    self.add_reference(Kind::Secret, secret, node);
                }
            }
        }
    }

    fn remove_use(&mut self, kind: Kind, key: Key, node: Id) {
        if kind != Kind::Claim {
            return self.remove_reference(kind, key, node);
        }
        let Some(claim) = self.claims.get_mut(&key) else { return };
        let Ok(at) = position(&claim.nodes, node) else { return };
        if let Some((_, pods)) = claim.nodes.get_mut(at)
            && *pods > 1
        {
            *pods -= 1;
            return;
        }
        claim.nodes.remove(at);
        for secret in self.secrets_of(key) {
            self.remove_reference(Kind::Secret, secret, node);
        }
        self.forget_if_unused(key);
    }

    /// Returns the secrets of all volumes bound to a claim. Secrets may repeat.
    fn secrets_of(&self, claim: Key) -> Vec<Key> {
        let volumes = self.claims.get(&claim).into_iter().flat_map(|claim| &claim.volumes);
        volumes
            .filter_map(|volume| self.volumes.get(volume))
            .flat_map(|volume| &volume.secrets)
            .copied()
            .collect()
    }

    fn add_reference(&mut self, kind: Kind, key: Key, node: Id) {
        *self.reference_counts.entry((kind, key, node)).or_default() += 1;
    }

    fn remove_reference(&mut self, kind: Kind, key: Key, node: Id) {
        if let Some(times) = self.reference_counts.get_mut(&(kind, key, node)) {
            *times -= 1;
            if *times == 0 {
                self.reference_counts.remove(&(kind, key, node));
            }
        }
    }

    fn forget_if_unused(&mut self, claim: Key) {
        if self.claims.get(&claim).is_some_and(|claim| claim.nodes.is_empty() && claim.volumes.is_empty()) {
            self.claims.remove(&claim);
        }
    }

    /// Updates a persistent volume. `None` if it is deleted or not bound to a claim. The cost is proportional
    /// to its secrets and the nodes of its claims.
    pub fn set_volume(&mut self, name: &str, volume: Option<VolumeUse<'_>>) {
        if let Some(id) = self.texts.find(name)
            && let Some(former) = self.volumes.remove(&id)
        {
            for node in self.nodes_of(former.claim) {
                for &secret in &former.secrets {
                    self.remove_reference(Kind::Secret, secret, node);
                }
            }
            if let Some(claim) = self.claims.get_mut(&former.claim) {
                claim.volumes.retain(|volume| *volume != id);
            }
            self.forget_if_unused(former.claim);
            for key in former.secrets.iter().chain([&former.claim]) {
                self.release(*key);
            }
            self.texts.release(id);
        }
        let Some(VolumeUse { claim, secrets }) = volume else { return };
        let id = self.texts.intern(name);
        let claim = self.intern(claim.0, claim.1);
        let secrets: Box<[Key]> =
            secrets.iter().map(|&(namespace, name)| self.intern(namespace, name)).collect();
        for node in self.nodes_of(claim) {
            for &secret in &secrets {
                self.add_reference(Kind::Secret, secret, node);
            }
        }
        self.claims.entry(claim).or_default().volumes.push(id);
        self.volumes.insert(id, Volume { claim, secrets });
    }

    fn nodes_of(&self, claim: Key) -> Vec<Id> {
        let nodes = self.claims.get(&claim).into_iter().flat_map(|claim| &claim.nodes);
        nodes.map(|&(node, _)| node).collect()
    }

    fn intern(&mut self, namespace: &str, name: &str) -> Key {
        (self.texts.intern(namespace), self.texts.intern(name))
    }

    fn release(&mut self, key: Key) {
        self.texts.release(key.0);
        self.texts.release(key.1);
    }

    /// Updates the node of an object. `None` if it is deleted or has no node.
    pub fn set_owned(&mut self, owned: NodeOwnedKind, namespace: &str, name: &str, node: Option<&str>) {
        if let Some(key) = self.texts.find(namespace).zip(self.texts.find(name))
            && let Some(former) = self.owned.remove(&(owned, key))
        {
            self.release(key);
            self.texts.release(former);
        }
        if let Some(node) = node {
            let key = self.intern(namespace, name);
            let node = self.texts.intern(node);
            self.owned.insert((owned, key), node);
        }
    }

    /// Returns the number of all stored entries; zero after all objects are deleted.
    #[cfg(test)]
    pub(super) fn entry_count(&self) -> usize {
        let objects = self.pods.len() + self.claims.len() + self.volumes.len() + self.owned.len();
        self.texts.len() + self.reference_counts.len() + objects
    }
}

fn position(nodes: &[(Id, u32)], node: Id) -> Result<usize, usize> {
    nodes.binary_search_by_key(&node, |&(entry_node, _)| entry_node)
}
