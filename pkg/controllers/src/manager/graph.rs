//! Index of owners and dependents (upstream's `garbagecollector/graph_builder.go`). Pure.
//!
//! A node exists only for an object with owner references, or for an owner whose deletion waits for the
//! garbage collector. All other objects need no memory. Owners are known by UID only; their existence is
//! looked up when it matters.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::stored_meta::{DeletionState, OwnerReference};

/// Storage key of an object, which is unique across resources.
pub(super) type ObjectKey = Arc<str>;

/// Facts of an object that has a node.
#[derive(Debug, Clone, Default)]
pub(super) struct Facts {
    pub(super) uid: String,
    pub(super) owners: Vec<OwnerReference>,
    pub(super) deletion: DeletionState,
}

impl Facts {
    /// True if the garbage collector has nothing to do for the object.
    fn are_irrelevant(&self) -> bool {
        self.owners.is_empty() && !self.deletion.waits()
    }
}

struct Node {
    uid: Arc<str>,
    /// Storage prefix of its resource.
    prefix: Arc<str>,
    owners: Box<[OwnerLink]>,
    deletion: DeletionState,
    /// True until a resync of its resource has seen it again.
    stale: bool,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct OwnerLink {
    uid: Arc<str>,
    blocks: bool,
}

/// Next step for an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// Remove the references of these dependents, then the finalizer.
    Orphan { dependents: Vec<ObjectKey> },
    /// The foreground deletion waits for these dependents, which may have to be deleted.
    WaitFor { dependents: Vec<ObjectKey> },
    /// No dependent blocks the foreground deletion.
    FinishForeground,
    /// Look up the owners.
    CheckOwners(DependentState),
}

/// State of the dependents of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DependentState {
    /// It has none.
    None,
    /// It has some.
    Some,
    /// One of them waits for its own dependents, so that the two may wait for each other.
    MayWaitForObject,
}

/// Step for an object with this UID.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) uid: Arc<str>,
    pub(super) prefix: Arc<str>,
    pub(super) step: Step,
}

/// The index. Changes add the objects that must be processed to `woken`.
#[derive(Default)]
pub(super) struct Graph {
    nodes: HashMap<ObjectKey, Node>,
    /// Keys of the nodes by the UIDs of their owners.
    dependents: HashMap<Arc<str>, BTreeSet<ObjectKey>>,
    by_uid: HashMap<Arc<str>, ObjectKey>,
}

impl Graph {
    /// True if some object has an owner.
    pub(super) fn has_dependents(&self) -> bool {
        !self.dependents.is_empty()
    }

    /// Returns the keys of all nodes.
    pub(super) fn keys(&self) -> impl Iterator<Item = &ObjectKey> {
        self.nodes.keys()
    }

    /// Returns the storage prefix of a node's resource.
    pub(super) fn prefix(&self, key: &str) -> Option<&Arc<str>> {
        self.nodes.get(key).map(|node| &node.prefix)
    }

    /// Adds or updates an object.
    pub(super) fn update(&mut self, key: &str, prefix: &Arc<str>, facts: &Facts, woken: &mut Vec<ObjectKey>) {
        let former_uid = self.nodes.get(key).map(|node| Arc::clone(&node.uid));
        if let Some(uid) = former_uid.filter(|uid| **uid != *facts.uid) {
            // The object was replaced between two changes.
            self.remove(key, Some(&uid), woken);
        }
        let former_deletion = self.nodes.get(key).map(|node| node.deletion);
        let former_owners = self.detach(key);
        let owners = facts.owners.iter().map(|owner| self.link(owner)).collect::<Box<[_]>>();
        self.wake_released_owners(&former_owners, &owners, woken);
        if facts.are_irrelevant() {
            return;
        }
        let key: ObjectKey = key.into();
        let uid: Arc<str> = facts.uid.as_str().into();
        for owner in &owners {
            self.dependents.entry(Arc::clone(&owner.uid)).or_default().insert(Arc::clone(&key));
        }
        let changed_owners = *owners != *former_owners;
        let deletion = facts.deletion;
        self.by_uid.insert(Arc::clone(&uid), Arc::clone(&key));
        let node = Node { uid: Arc::clone(&uid), prefix: Arc::clone(prefix), owners, deletion, stale: false };
        self.nodes.insert(Arc::clone(&key), node);
        let starts_waiting = deletion.waits() && former_deletion != Some(deletion);
        if changed_owners || starts_waiting {
            woken.push(key);
        }
        if starts_waiting && deletion.foreground {
            self.wake_dependents(&uid, woken);
        }
    }

    /// Removes an object with its last known UID.
    pub(super) fn remove(&mut self, key: &str, uid: Option<&str>, woken: &mut Vec<ObjectKey>) {
        let node_uid = self.nodes.get(key).map(|node| Arc::clone(&node.uid));
        let former_owners = self.detach(key);
        self.wake_released_owners(&former_owners, &[], woken);
        if let Some(uid) = node_uid.as_deref().or(uid) {
            self.wake_dependents(uid, woken);
        }
    }

    /// Removes a node with its links. Returns its owners.
    fn detach(&mut self, key: &str) -> Box<[OwnerLink]> {
        let Some(node) = self.nodes.remove(key) else { return Box::default() };
        for owner in &node.owners {
            if let Some(dependents) = self.dependents.get_mut(&owner.uid) {
                dependents.remove(key);
                if dependents.is_empty() {
                    self.dependents.remove(&owner.uid);
                }
            }
        }
        if self.by_uid.get(&node.uid).is_some_and(|of_uid| &**of_uid == key) {
            self.by_uid.remove(&node.uid);
        }
        node.owners
    }

    fn link(&self, owner: &OwnerReference) -> OwnerLink {
        let shared = self.dependents.get_key_value(owner.uid.as_str()).map(|(uid, _)| Arc::clone(uid));
        OwnerLink { uid: shared.unwrap_or_else(|| owner.uid.as_str().into()), blocks: owner.blocks }
    }

    /// Wakes the owners in foreground deletion that an object no longer blocks.
    fn wake_released_owners(&self, before: &[OwnerLink], after: &[OwnerLink], woken: &mut Vec<ObjectKey>) {
        if before == after {
            return;
        }
        // Objects can have tens of thousands of owners.
        let after: HashSet<_> = after.iter().collect();
        for owner in before.iter().filter(|owner| !after.contains(owner)) {
            let key = self.by_uid.get(&owner.uid);
            let waits = |key: &&ObjectKey| {
                self.nodes.get(&***key).is_some_and(|node| node.deletion.deletes_dependents())
            };
            woken.extend(key.filter(waits).cloned());
        }
    }

    fn wake_dependents(&self, uid: &str, woken: &mut Vec<ObjectKey>) {
        woken.extend(self.dependents.get(uid).into_iter().flatten().cloned());
    }

    /// Marks the objects of a resource before they are listed again.
    pub(super) fn start_resync(&mut self, prefix: &str) {
        self.nodes.values_mut().filter(|node| &*node.prefix == prefix).for_each(|node| node.stale = true);
    }

    /// Removes the objects of a resource that were not listed again.
    pub(super) fn finish_resync(&mut self, prefix: &str, woken: &mut Vec<ObjectKey>) {
        let is_gone = |(key, node): (&ObjectKey, &Node)| {
            (node.stale && &*node.prefix == prefix).then(|| Arc::clone(key))
        };
        let gone: Vec<_> = self.nodes.iter().filter_map(is_gone).collect();
        for key in gone {
            self.remove(&key, None, woken);
        }
    }

    /// Returns the next step for an object; `None` if there is nothing to do.
    pub(super) fn plan(&self, key: &str) -> Option<Plan> {
        let node = self.nodes.get(key)?;
        let dependents = || self.dependents.get(&node.uid).into_iter().flatten();
        let dependent_nodes = || dependents().filter_map(|key| Some((key, self.nodes.get(key)?)));
        let step = if node.deletion.deleting && node.deletion.orphan {
            Step::Orphan { dependents: dependents().cloned().collect() }
        } else if node.deletion.deletes_dependents() {
            let blocks = |(_, dependent): &(&ObjectKey, &Node)| {
                dependent.owners.iter().any(|owner| owner.blocks && owner.uid == node.uid)
            };
            let mut blocking = dependent_nodes().filter(blocks).peekable();
            if blocking.peek().is_none() {
                Step::FinishForeground
            } else {
                let waits = |(_, dependent): &(&ObjectKey, &Node)| dependent.deletion.deletes_dependents();
                let idle = blocking.filter(|dependent| !waits(dependent));
                Step::WaitFor { dependents: idle.map(|(key, _)| Arc::clone(key)).collect() }
            }
        } else if node.deletion.deleting {
            return None;
        } else {
            let may_be_cyclic = dependent_nodes().any(|(_, node)| node.deletion.deletes_dependents());
            Step::CheckOwners(match dependents().next() {
                None => DependentState::None,
                Some(_) if may_be_cyclic => DependentState::MayWaitForObject,
                Some(_) => DependentState::Some,
            })
        };
        Some(Plan { uid: Arc::clone(&node.uid), prefix: Arc::clone(&node.prefix), step })
    }

    /// Removes the objects of a resource that is no longer served.
    pub(super) fn remove_resource(&mut self, prefix: &str, woken: &mut Vec<ObjectKey>) {
        let is_of = |(key, node): (&ObjectKey, &Node)| (&*node.prefix == prefix).then(|| Arc::clone(key));
        let gone: Vec<_> = self.nodes.iter().filter_map(is_of).collect();
        for key in gone {
            self.remove(&key, None, woken);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const GONE: DeletionState = DeletionState { deleting: true, foreground: false, orphan: false };
    const FOREGROUND: DeletionState = DeletionState { foreground: true, ..GONE };
    const ORPHAN: DeletionState = DeletionState { orphan: true, ..GONE };

    /// A graph under test. Objects have their key as UID unless noted.
    #[derive(Default)]
    struct Tested(Graph);

    impl Tested {
        /// Updates an object. An owner with a leading `!` is blocked. Returns the woken keys.
        fn put(&mut self, key: &str, owners: &[&str], deletion: DeletionState) -> Vec<String> {
            let owner = |owner: &&str| OwnerReference {
                uid: owner.trim_start_matches('!').to_owned(),
                blocks: owner.starts_with('!'),
                ..OwnerReference::default()
            };
            let owners = owners.iter().map(owner).collect();
            let mut woken = Vec::new();
            let facts = Facts { uid: key.to_owned(), owners, deletion };
            self.0.update(key, &"p".into(), &facts, &mut woken);
            sorted(&woken)
        }

        fn remove(&mut self, key: &str) -> Vec<String> {
            let mut woken = Vec::new();
            self.0.remove(key, Some(key), &mut woken);
            sorted(&woken)
        }

        fn step(&self, key: &str) -> Option<Step> {
            self.0.plan(key).map(|plan| plan.step)
        }
    }

    fn sorted(keys: &[ObjectKey]) -> Vec<String> {
        let mut keys: Vec<String> = keys.iter().map(ToString::to_string).collect();
        keys.sort();
        keys.dedup();
        keys
    }

    fn alive() -> DeletionState {
        DeletionState::default()
    }

    #[test]
    fn objects_without_owners_need_no_node() {
        let mut graph = Tested::default();
        assert!(graph.put("a", &[], alive()).is_empty());
        assert!(graph.put("b", &[], GONE).is_empty());
        assert!(graph.0.nodes.is_empty() && graph.0.by_uid.is_empty() && !graph.0.has_dependents());
    }

    #[test]
    fn new_dependent_is_checked() {
        let mut graph = Tested::default();
        assert_eq!(graph.put("d", &["o"], alive()), ["d"]);
        assert!(graph.put("d", &["o"], alive()).is_empty(), "nothing has changed");
        assert_eq!(graph.step("d"), Some(Step::CheckOwners(DependentState::None)));
        assert_eq!(graph.put("d", &["o2"], alive()), ["d"]);
    }

    #[test]
    fn removed_owner_wakes_dependents() {
        let mut graph = Tested::default();
        graph.put("d1", &["o"], alive());
        graph.put("d2", &["o", "other"], alive());
        graph.put("d3", &["other"], alive());
        assert_eq!(graph.remove("o"), ["d1", "d2"]);
        graph.remove("d1");
        graph.remove("d2");
        graph.remove("d3");
        assert!(graph.0.nodes.is_empty() && !graph.0.has_dependents());
    }

    #[test]
    fn replaced_owner_wakes_dependents() {
        let mut graph = Tested::default();
        graph.put("d", &["o"], alive());
        graph.put("o", &["root"], alive());
        let facts = Facts { uid: "o-again".to_owned(), ..Facts::default() };
        let mut woken = Vec::new();
        graph.0.update("o", &"p".into(), &facts, &mut woken);
        assert_eq!(sorted(&woken), ["d"]);
    }

    #[test]
    fn foreground_deletion_waits_for_blocking_dependents() {
        let mut graph = Tested::default();
        graph.put("blocking", &["!o"], alive());
        graph.put("other", &["o"], alive());
        assert_eq!(graph.put("o", &[], FOREGROUND), ["blocking", "o", "other"]);
        assert_eq!(graph.step("o"), Some(Step::WaitFor { dependents: vec!["blocking".into()] }));
        assert_eq!(graph.remove("blocking"), ["o"]);
        assert_eq!(graph.step("o"), Some(Step::FinishForeground));
    }

    #[test]
    fn unblocked_owner_is_woken() {
        let mut graph = Tested::default();
        graph.put("d", &["!o"], alive());
        graph.put("o", &[], FOREGROUND);
        assert_eq!(graph.put("d", &["o"], alive()), ["d", "o"]);
        assert_eq!(graph.step("o"), Some(Step::FinishForeground));
    }

    #[test]
    fn owners_of_large_object_change() {
        let mut graph = Tested::default();
        let owners: Vec<String> = (0..50_000).map(|number| format!("owner-{number}")).collect();
        let owners: Vec<&str> = owners.iter().map(String::as_str).collect();
        assert_eq!(graph.put("d", &owners, alive()), ["d"]);
        assert_eq!(graph.put("d", &owners[1..], alive()), ["d"]);
    }

    #[test]
    fn orphaning_owner_lists_dependents() {
        let mut graph = Tested::default();
        graph.put("d", &["o"], alive());
        assert_eq!(graph.put("o", &[], ORPHAN), ["o"]);
        assert_eq!(graph.step("o"), Some(Step::Orphan { dependents: vec!["d".into()] }));
        graph.put("d", &[], alive());
        assert_eq!(graph.step("o"), Some(Step::Orphan { dependents: vec![] }));
    }

    #[test]
    fn terminating_dependent_is_left_alone() {
        let mut graph = Tested::default();
        graph.put("d", &["o"], GONE);
        assert_eq!(graph.step("d"), None);
    }

    #[test]
    fn cycle_is_detected() {
        let mut graph = Tested::default();
        graph.put("a", &["!b"], FOREGROUND);
        graph.put("b", &["!a"], alive());
        assert_eq!(graph.step("b"), Some(Step::CheckOwners(DependentState::MayWaitForObject)));
    }

    #[test]
    fn resync_finds_missed_deletions() {
        let mut graph = Tested::default();
        graph.put("gone", &["o"], alive());
        graph.put("stays", &["gone"], alive());
        graph.0.start_resync("p");
        graph.put("stays", &["gone"], alive());
        let mut woken = Vec::new();
        graph.0.finish_resync("p", &mut woken);
        assert_eq!(sorted(&woken), ["stays"]);
        assert!(!graph.0.nodes.contains_key("gone"));
    }

    #[test]
    fn unserved_resource_is_forgotten() {
        let mut graph = Tested::default();
        graph.put("d", &["o"], alive());
        graph.0.remove_resource("p", &mut Vec::new());
        assert!(graph.0.nodes.is_empty() && !graph.0.has_dependents());
    }
}
