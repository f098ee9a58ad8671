//! A set of field paths: the fields of a manager, or the result of a comparison. It is a sorted trie, so that
//! all set operations are merges of sorted lists.
//!
//! A path in the set includes neither its parents nor its children: `.spec` and `.spec.replicas` are two
//! members. A step that is not a member exists only if it has children.

use std::cmp::Ordering;
use std::fmt::{self, Display};

use super::path::{PathElement, PathText};

mod algebra;
#[cfg(test)]
mod tests;
mod text;
mod wire;

pub(crate) use text::FieldsText;
pub use wire::FieldsError;

/// A set of field paths (upstream's `fieldpath.Set`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Set {
    /// Sorted by element, without duplicates; every node is a member or has children.
    nodes: Vec<Node>,
}

/// A step that is a member of the set, or leads to one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// The last step of the path to this node.
    pub element: PathElement,
    /// True if the path to this step is in the set.
    pub member: bool,
    /// The part of the set below the step.
    pub children: Set,
}

impl Node {
    pub(super) fn is_vacant(&self) -> bool {
        !self.member && self.children.is_empty()
    }
}

impl Set {
    /// The empty set, without an allocation.
    pub const fn new() -> Self {
        Set { nodes: Vec::new() }
    }

    /// The set of these paths, without their parents.
    pub fn of<'p>(paths: impl IntoIterator<Item = &'p [PathElement]>) -> Self {
        let mut set = Set::new();
        paths.into_iter().for_each(|path| set.insert(path));
        set
    }

    /// An empty set with capacity for exactly this number of first steps.
    pub fn with_capacity(steps: usize) -> Self {
        Set { nodes: Vec::with_capacity(steps) }
    }

    /// Reserves capacity for exactly this number of further first steps. Doubling would temporarily need
    /// three times the memory of a long set.
    pub fn reserve(&mut self, steps: usize) {
        self.nodes.reserve_exact(steps);
    }

    /// True if the set contains no path.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The number of paths, counted in linear time.
    pub fn len(&self) -> usize {
        self.nodes.iter().map(|node| usize::from(node.member) + node.children.len()).sum()
    }

    /// The first steps of all paths, in order.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Like [`nodes`](Self::nodes), owned.
    pub fn into_nodes(self) -> Vec<Node> {
        self.nodes
    }

    /// Like [`nodes`](Self::nodes), for changes that keep the order and leave no vacant node.
    pub(super) fn nodes_mut(&mut self) -> &mut Vec<Node> {
        &mut self.nodes
    }

    /// The node of a first step; `None` if no path starts with it.
    pub fn node(&self, element: &PathElement) -> Option<&Node> {
        let at = self.position(element).ok()?;
        self.nodes.get(at)
    }

    /// Adds a path without its parents. The empty path (the whole object) cannot be owned and is ignored.
    /// Constant time per step if paths are added in order.
    pub fn insert(&mut self, path: &[PathElement]) {
        let Some((first, rest)) = path.split_first() else { return };
        let mut node = self.entry(first);
        for element in rest {
            node = node.children.entry(element);
        }
        node.member = true;
    }

    /// Adds a step with its children, as a member if `member`. Walkers build a set this way: children first,
    /// each level in order, in constant time. A repeated step is merged with the existing one.
    pub fn push(&mut self, element: PathElement, member: bool, mut children: Set) {
        // The children are complete now, and mostly few: spare capacity would exceed their size.
        children.nodes.shrink_to_fit();
        let node = Node { element, member, children };
        if node.is_vacant() {
            return;
        }
        match self.position(&node.element) {
            Err(at) => self.nodes.insert(at, node),
            Ok(at) => {
                if let Some(old) = self.nodes.get_mut(at) {
                    old.member |= node.member;
                    old.children.unite(node.children);
                }
            }
        }
    }

    /// True if the set contains exactly this path; its parents and children do not count.
    pub fn has(&self, path: &[PathElement]) -> bool {
        let Some((last, parents)) = path.split_last() else { return false };
        let mut set = self;
        for element in parents {
            let Some(node) = set.node(element) else { return false };
            set = &node.children;
        }
        set.node(last).is_some_and(|node| node.member)
    }

    /// The paths below the step `element`, without it.
    pub fn below(&self, element: &PathElement) -> Option<&Set> {
        self.node(element).map(|node| &node.children).filter(|children| !children.is_empty())
    }

    /// Calls `visit` with each path: at each level first the members in order, then the children of all steps
    /// in order.
    pub fn for_each(&self, mut visit: impl FnMut(&[PathElement])) {
        self.walk(&mut Vec::new(), &mut visit);
    }

    fn walk(&self, path: &mut Vec<PathElement>, visit: &mut dyn FnMut(&[PathElement])) {
        let mut enter = |node: &Node, step: &mut dyn FnMut(&mut Vec<PathElement>)| {
            path.push(node.element.clone());
            step(path);
            path.pop();
        };
        for node in self.nodes.iter().filter(|node| node.member) {
            enter(node, &mut |path| visit(path));
        }
        for node in self.nodes.iter().filter(|node| !node.children.is_empty()) {
            enter(node, &mut |path| node.children.walk(path, visit));
        }
    }

    /// The position of the element, or its insertion point. The end is tried first because most sets grow in
    /// order.
    fn position(&self, element: &PathElement) -> Result<usize, usize> {
        match self.nodes.last().map(|last| last.element.cmp(element)) {
            None => Err(0),
            Some(Ordering::Less) => Err(self.nodes.len()),
            Some(Ordering::Equal) => Ok(self.nodes.len() - 1),
            Some(Ordering::Greater) => self.nodes.binary_search_by(|node| node.element.cmp(element)),
        }
    }

    /// The node of `element`, created if missing: then it is vacant, and the caller must fill it.
    fn entry(&mut self, element: &PathElement) -> &mut Node {
        let at = self.position(element).unwrap_or_else(|at| {
            self.nodes.insert(at, Node { element: element.clone(), member: false, children: Set::new() });
            at
        });
        &mut self.nodes[at]
    }
}

/// One path per line, in the order of [`Set::for_each`].
impl Display for Set {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut result = Ok(());
        let mut separator = "";
        self.for_each(|path| {
            result = result.and_then(|()| write!(f, "{separator}{}", PathText(path)));
            separator = "\n";
        });
        result
    }
}
