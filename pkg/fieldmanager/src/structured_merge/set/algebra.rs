//! Union, intersection and the two differences, as merges of sorted lists of nodes.

use std::cmp::Ordering;

use super::{Node, PathElement, Set};

impl Set {
    /// The paths in at least one of the sets.
    #[must_use]
    pub fn union(&self, other: &Set) -> Set {
        let mut union = self.clone();
        union.unite_ref(other);
        union
    }

    /// The union of all sets. Adding many small sets to a large one individually would move the large one
    /// each time.
    #[must_use]
    pub fn union_of(mut sets: Vec<Set>) -> Set {
        if sets.len() < 2 {
            return sets.pop().unwrap_or_default();
        }
        let mut nodes: Vec<Node> = sets.into_iter().flat_map(|set| set.nodes).collect();
        nodes.sort_by(|a, b| a.element.cmp(&b.element));
        let mut nodes = nodes.into_iter().peekable();
        let mut union = Vec::new();
        while let Some(Node { element, mut member, children }) = nodes.next() {
            let mut below = vec![children];
            while let Some(node) = nodes.next_if(|node| node.element == element) {
                member |= node.member;
                below.push(node.children);
            }
            below.retain(|children| !children.is_empty());
            union.push(Node { element, member, children: Set::union_of(below) });
        }
        Set { nodes: union }
    }

    /// Adds all paths of `other`; returns true if any of them is new.
    pub fn unite(&mut self, other: Set) -> bool {
        if self.is_empty() {
            *self = other;
            return !self.is_empty();
        }
        let mut at = 0;
        let mut changed = false;
        let mut new = Vec::new();
        for rhs in other.nodes {
            at = self.advance(at, &rhs);
            match self.nodes.get_mut(at) {
                Some(lhs) if lhs.element == rhs.element => {
                    changed |= rhs.member && !lhs.member;
                    lhs.member |= rhs.member;
                    changed |= lhs.children.unite(rhs.children);
                }
                _ => new.push((at, rhs)),
            }
        }
        changed | self.insert_all(new)
    }

    /// Like [`unite`](Self::unite), copying new paths.
    pub fn unite_ref(&mut self, other: &Set) -> bool {
        if self.is_empty() {
            self.clone_from(other);
            return !self.is_empty();
        }
        let mut at = 0;
        let mut changed = false;
        let mut new = Vec::new();
        for rhs in &other.nodes {
            at = self.advance(at, rhs);
            match self.nodes.get_mut(at) {
                Some(lhs) if lhs.element == rhs.element => {
                    changed |= rhs.member && !lhs.member;
                    lhs.member |= rhs.member;
                    changed |= lhs.children.unite_ref(&rhs.children);
                }
                _ => new.push((at, rhs.clone())),
            }
        }
        changed | self.insert_all(new)
    }

    /// Inserts nodes before those at the given positions, all at once; returns true if there are any.
    fn insert_all(&mut self, new: Vec<(usize, Node)>) -> bool {
        if new.is_empty() {
            return false;
        }
        let mut woven = Vec::with_capacity(self.nodes.len().saturating_add(new.len()));
        let mut old = std::mem::take(&mut self.nodes).into_iter();
        let mut passed = 0;
        for (at, node) in new {
            woven.extend(old.by_ref().take(at.saturating_sub(passed)));
            passed = at;
            woven.push(node);
        }
        woven.extend(old);
        self.nodes = woven;
        true
    }

    /// The first position from `at` on whose element is not less than that of `node`.
    fn advance(&self, at: usize, node: &Node) -> usize {
        let rest = self.nodes.get(at..).unwrap_or_default();
        self.nodes.len().saturating_sub(seek(rest, &node.element).len())
    }

    /// The paths in both sets.
    #[must_use]
    pub fn intersection(&self, other: &Set) -> Set {
        let mut nodes = Vec::new();
        for (lhs, rhs) in self.common(other) {
            let member = lhs.member && rhs.member;
            let children = lhs.children.intersection(&rhs.children);
            if member || !children.is_empty() {
                nodes.push(Node { element: lhs.element.clone(), member, children });
            }
        }
        Set { nodes }
    }

    /// True if both sets have a common path.
    #[must_use]
    pub fn intersects(&self, other: &Set) -> bool {
        self.common(other)
            .any(|(lhs, rhs)| (lhs.member && rhs.member) || lhs.children.intersects(&rhs.children))
    }

    /// True if all paths are also in `other`.
    #[must_use]
    pub fn is_subset(&self, other: &Set) -> bool {
        let within =
            |(lhs, rhs): (&Node, &Node)| (rhs.member || !lhs.member) && lhs.children.is_subset(&rhs.children);
        // Every node contains a path, so each must have a counterpart.
        self.nodes.len() <= other.nodes.len()
            && self.common(other).filter(|pair| within(*pair)).count() == self.nodes.len()
    }

    /// True if each leaf path (not a prefix of another path) is also a leaf path of `other`.
    #[must_use]
    pub(in crate::structured_merge) fn leaves_are_subset(&self, other: &Set) -> bool {
        let alike = |(lhs, rhs): (&Node, &Node)| {
            if lhs.children.is_empty() {
                rhs.member && rhs.children.is_empty()
            } else {
                lhs.children.leaves_are_subset(&rhs.children)
            }
        };
        self.common(other).filter(|pair| alike(*pair)).count() == self.nodes.len()
    }

    /// The pairs of nodes with the same element.
    fn common<'a>(&'a self, other: &'a Set) -> impl Iterator<Item = (&'a Node, &'a Node)> {
        let mut left_nodes = self.nodes.as_slice();
        let mut right_nodes = other.nodes.as_slice();
        std::iter::from_fn(move || {
            loop {
                let ((lhs, left_rest), (rhs, right_rest)) =
                    (left_nodes.split_first()?, right_nodes.split_first()?);
                match lhs.element.cmp(&rhs.element) {
                    Ordering::Less => left_nodes = seek(left_nodes, &rhs.element),
                    Ordering::Greater => right_nodes = seek(right_nodes, &lhs.element),
                    Ordering::Equal => {
                        (left_nodes, right_nodes) = (left_rest, right_rest);
                        return Some((lhs, rhs));
                    }
                }
            }
        })
    }

    /// The paths that are not in `other`. A path whose parent is in `other` remains.
    #[must_use]
    pub fn difference(mut self, other: &Set) -> Set {
        self.subtract(other);
        self
    }

    /// Removes the paths of `other`, see [`difference`](Self::difference); returns true if there were any.
    pub fn subtract(&mut self, other: &Set) -> bool {
        self.subtract_with(other, |lhs, rhs| {
            let was_removed = lhs.member && rhs.member;
            lhs.member &= !rhs.member;
            lhs.children.subtract(&rhs.children) | was_removed
        })
    }

    /// The paths that are not in `other` and have no parent in it.
    #[must_use]
    pub fn recursive_difference(mut self, other: &Set) -> Set {
        self.subtract_recursively(other);
        self
    }

    /// Removes the paths of `other` and their children; returns true if there were any.
    pub fn subtract_recursively(&mut self, other: &Set) -> bool {
        self.subtract_with(other, |lhs, rhs| {
            if rhs.member {
                lhs.member = false;
                lhs.children = Set::new();
                true
            } else {
                lhs.children.subtract_recursively(&rhs.children)
            }
        })
    }

    /// Calls `take` on each node that `other` has too, drops nodes that become vacant, and returns true if
    /// `take` removed anything.
    fn subtract_with(&mut self, other: &Set, mut take: impl FnMut(&mut Node, &Node) -> bool) -> bool {
        let mut remaining = other.nodes.as_slice();
        let mut changed = false;
        if remaining.is_empty() {
            return false;
        }
        self.nodes.retain_mut(|lhs| {
            remaining = seek(remaining, &lhs.element);
            match remaining.first().filter(|rhs| rhs.element == lhs.element) {
                Some(rhs) if take(lhs, rhs) => {
                    changed = true;
                    !lhs.is_vacant()
                }
                _ => true,
            }
        });
        changed
    }

    /// The paths that are not prefixes of other paths.
    #[must_use]
    pub fn leaves(mut self) -> Set {
        for node in &mut self.nodes {
            node.member &= node.children.is_empty();
            node.children = std::mem::take(&mut node.children).leaves();
        }
        self
    }
}

/// The nodes from the first one on that is not less than `element`. The search doubles its steps: it skips a
/// large set quickly and is as fast as a linear scan for sets of similar size.
fn seek<'n>(nodes: &'n [Node], element: &PathElement) -> &'n [Node] {
    let below = |node: &Node| node.element < *element;
    if !nodes.first().is_some_and(below) {
        return nodes;
    }
    let mut base = 0;
    let mut reach = 1_usize;
    while nodes.get(reach).is_some_and(below) {
        base = reach;
        reach = reach.saturating_mul(2);
    }
    // The node at `known` is less, the one at `reach` is not.
    let from = base.saturating_add(1);
    let between = nodes.get(from..reach.min(nodes.len())).unwrap_or_default();
    nodes.get(from.saturating_add(between.partition_point(below))..).unwrap_or_default()
}
