//! Union, intersection and the two differences, as merges of sorted lists of nodes.

use std::cmp::Ordering;

use super::{Node, Set};

impl Set {
    /// The paths that are in either set.
    #[must_use]
    pub fn union(&self, other: &Set) -> Set {
        let mut union = self.clone();
        union.unite_ref(other);
        union
    }

    /// Adds all paths of `other`; whether any of them is new.
    pub fn unite(&mut self, other: Set) -> bool {
        if self.is_empty() {
            *self = other;
            return !self.is_empty();
        }
        let (mut at, mut changed) = (0, false);
        for theirs in other.nodes {
            at = self.advance(at, &theirs);
            match self.nodes.get_mut(at) {
                Some(ours) if ours.element == theirs.element => {
                    changed |= theirs.member && !ours.member;
                    ours.member |= theirs.member;
                    changed |= ours.children.unite(theirs.children);
                }
                _ => {
                    self.nodes.insert(at, theirs);
                    changed = true;
                }
            }
        }
        changed
    }

    /// As [`unite`](Self::unite), copying what is new.
    pub fn unite_ref(&mut self, other: &Set) -> bool {
        if self.is_empty() {
            self.clone_from(other);
            return !self.is_empty();
        }
        let (mut at, mut changed) = (0, false);
        for theirs in &other.nodes {
            at = self.advance(at, theirs);
            match self.nodes.get_mut(at) {
                Some(ours) if ours.element == theirs.element => {
                    changed |= theirs.member && !ours.member;
                    ours.member |= theirs.member;
                    changed |= ours.children.unite_ref(&theirs.children);
                }
                _ => {
                    self.nodes.insert(at, theirs.clone());
                    changed = true;
                }
            }
        }
        changed
    }

    /// The first place from `at` on whose element is not below that of `node`.
    fn advance(&self, at: usize, node: &Node) -> usize {
        let rest = self.nodes.get(at..).unwrap_or_default();
        at + rest.iter().take_while(|ours| ours.element < node.element).count()
    }

    /// The paths that are in both sets.
    #[must_use]
    pub fn intersection(&self, other: &Set) -> Set {
        let mut nodes = Vec::new();
        for (ours, theirs) in self.common(other) {
            let member = ours.member && theirs.member;
            let children = ours.children.intersection(&theirs.children);
            if member || !children.is_empty() {
                nodes.push(Node { element: ours.element.clone(), member, children });
            }
        }
        Set { nodes }
    }

    /// Whether any path is in both sets.
    #[must_use]
    pub fn intersects(&self, other: &Set) -> bool {
        self.common(other).any(|(ours, theirs)| {
            (ours.member && theirs.member) || ours.children.intersects(&theirs.children)
        })
    }

    /// Whether all paths are in `other` too.
    #[must_use]
    pub fn is_subset(&self, other: &Set) -> bool {
        let within = |(ours, theirs): (&Node, &Node)| {
            (theirs.member || !ours.member) && ours.children.is_subset(&theirs.children)
        };
        // Every node holds a path, so each must have its like.
        self.nodes.len() <= other.nodes.len()
            && self.common(other).filter(|pair| within(*pair)).count() == self.nodes.len()
    }

    /// Whether each path that no other goes through is in `other` too, where none goes through it
    /// either.
    #[must_use]
    pub(in crate::structured_merge) fn ends_as(&self, other: &Set) -> bool {
        let alike = |(ours, theirs): (&Node, &Node)| match ours.children.is_empty() {
            true => theirs.member && theirs.children.is_empty(),
            false => ours.children.ends_as(&theirs.children),
        };
        self.common(other).filter(|pair| alike(*pair)).count() == self.nodes.len()
    }

    /// The pairs of nodes that have the same element.
    fn common<'a>(&'a self, other: &'a Set) -> impl Iterator<Item = (&'a Node, &'a Node)> {
        let (mut left, mut right) = (self.nodes.iter().peekable(), other.nodes.iter().peekable());
        std::iter::from_fn(move || {
            loop {
                match left.peek()?.element.cmp(&right.peek()?.element) {
                    Ordering::Less => drop(left.next()),
                    Ordering::Greater => drop(right.next()),
                    Ordering::Equal => return left.next().zip(right.next()),
                }
            }
        })
    }

    /// The paths that are not in `other`. A path whose parent is in `other` stays.
    #[must_use]
    pub fn difference(mut self, other: &Set) -> Set {
        self.subtract(other);
        self
    }

    /// Takes out the paths of `other`, see [`difference`](Self::difference); whether there were any.
    pub fn subtract(&mut self, other: &Set) -> bool {
        self.subtract_with(other, |ours, theirs| {
            let taken = ours.member && theirs.member;
            ours.member &= !theirs.member;
            ours.children.subtract(&theirs.children) | taken
        })
    }

    /// The paths that are not in `other` and have no parent in it.
    #[must_use]
    pub fn recursive_difference(mut self, other: &Set) -> Set {
        self.subtract_recursively(other);
        self
    }

    /// Takes out the paths of `other` and all below them; whether there were any.
    pub fn subtract_recursively(&mut self, other: &Set) -> bool {
        self.subtract_with(other, |ours, theirs| {
            if theirs.member {
                ours.member = false;
                ours.children = Set::new();
                true
            } else {
                ours.children.subtract_recursively(&theirs.children)
            }
        })
    }

    /// Lets `take` take from each node that `other` has too, drops the nodes of which nothing is left,
    /// and says whether anything was taken.
    fn subtract_with(&mut self, other: &Set, mut take: impl FnMut(&mut Node, &Node) -> bool) -> bool {
        let mut others = other.nodes.iter().peekable();
        let mut changed = false;
        if others.peek().is_none() {
            return false;
        }
        self.nodes.retain_mut(|ours| {
            while others.next_if(|theirs| theirs.element < ours.element).is_some() {}
            match others.next_if(|theirs| theirs.element == ours.element) {
                Some(theirs) if take(ours, theirs) => {
                    changed = true;
                    !ours.is_vacant()
                }
                _ => true,
            }
        });
        changed
    }

    /// The paths that no other path goes through.
    #[must_use]
    pub fn leaves(mut self) -> Set {
        for node in &mut self.nodes {
            node.member &= node.children.is_empty();
            node.children = std::mem::take(&mut node.children).leaves();
        }
        self
    }
}
