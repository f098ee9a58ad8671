//! A set of field paths: what a manager owns, what a comparison found. One sorted trie, so that all
//! set operations are merges of sorted lists.
//!
//! A path in the set does not put its parents into it, nor its children: `.spec` and `.spec.replicas`
//! are two members. A step that is no member is there only while something below it is.

use std::cmp::Ordering;
use std::fmt::{self, Display};

use super::path::{PathElement, PathText};

mod algebra;
#[cfg(test)]
mod tests;
mod wire;

/// A set of field paths.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Set {
    /// Sorted by element, no element twice; every node is a member or has children.
    nodes: Vec<Node>,
}

/// A step that is in the set, or on the way to something that is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// The step.
    pub element: PathElement,
    /// Whether the path that ends with this step is in the set.
    pub member: bool,
    /// What the set holds below the step.
    pub children: Set,
}

impl Node {
    pub(super) fn is_vacant(&self) -> bool {
        !self.member && self.children.is_empty()
    }
}

impl Set {
    /// The empty set.
    pub const fn new() -> Self {
        Set { nodes: Vec::new() }
    }

    /// The set of these paths.
    pub fn of<'p>(paths: impl IntoIterator<Item = &'p [PathElement]>) -> Self {
        let mut set = Set::new();
        paths.into_iter().for_each(|path| set.insert(path));
        set
    }

    /// The empty set, with room for exactly so many first steps.
    pub fn with_capacity(steps: usize) -> Self {
        Set { nodes: Vec::with_capacity(steps) }
    }

    /// Makes room for exactly so many further first steps. Growing by doubling would have a long set three times at once.
    pub fn reserve(&mut self, steps: usize) {
        self.nodes.reserve_exact(steps);
    }

    /// Whether no path is in the set.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// How many paths are in the set.
    pub fn len(&self) -> usize {
        self.nodes.iter().map(|node| usize::from(node.member) + node.children.len()).sum()
    }

    /// The first steps of all paths, in order.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// As [`nodes`](Self::nodes), owned.
    pub fn into_nodes(self) -> Vec<Node> {
        self.nodes
    }

    /// As [`nodes`](Self::nodes), for changes that leave the order and no node vacant.
    pub(super) fn nodes_mut(&mut self) -> &mut Vec<Node> {
        &mut self.nodes
    }

    /// The node of the first step `element`.
    pub fn node(&self, element: &PathElement) -> Option<&Node> {
        let at = self.position(element).ok()?;
        self.nodes.get(at)
    }

    /// Adds a path, not its parents. The empty path stands for the whole object, which nobody owns,
    /// and is ignored. Takes constant time per step where paths come in order.
    pub fn insert(&mut self, path: &[PathElement]) {
        let Some((first, rest)) = path.split_first() else { return };
        let mut node = self.entry(first);
        for element in rest {
            node = node.children.entry(element);
        }
        node.member = true;
    }

    /// Adds a step, as a member if `member`, and what is below it. This is how a walker builds a set:
    /// children first, each level appended to in order, which takes constant time. A step that comes
    /// again is united with what is there.
    pub fn push(&mut self, element: PathElement, member: bool, mut children: Set) {
        // Complete by now, and most are small: room for more would be more than what they hold.
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

    /// Whether the path is in the set.
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

    /// Calls `visit` with each path: at each level first the members in order, then what is below
    /// them and others, in order.
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

    /// Where the element is, or where it belongs. The end is tried first, for most sets grow in order.
    fn position(&self, element: &PathElement) -> Result<usize, usize> {
        match self.nodes.last().map(|last| last.element.cmp(element)) {
            None => Err(0),
            Some(Ordering::Less) => Err(self.nodes.len()),
            Some(Ordering::Equal) => Ok(self.nodes.len() - 1),
            Some(Ordering::Greater) => self.nodes.binary_search_by(|node| node.element.cmp(element)),
        }
    }

    /// The node of `element`, made if there is none: then it is vacant, and the caller fills it.
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
