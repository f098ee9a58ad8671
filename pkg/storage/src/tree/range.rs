//! Iteration over a range of ranks: borrowed ([`Range`]) or owning its snapshot ([`Cursor`]).
//!
//! Neither keeps a stack of the path. After the leaves of a branch, the next one is found from the root by
//! its rank, which costs a few additions once per branch or leaf.

use std::iter::FusedIterator;
use std::slice;
use std::sync::Arc;

use super::node::{Child, LeafPosition, Node};

/// An iterator over elements in order. Its length is known; it does not allocate.
pub struct Range<'a, E> {
    root: &'a Arc<Node<E>>,
    /// The rest of the current leaf,
    items: slice::Iter<'a, E>,
    /// and of the leaves under its branch.
    siblings: slice::Iter<'a, Child<E>>,
    ranks: std::ops::Range<usize>,
}

impl<'a, E> Range<'a, E> {
    pub(super) fn new(root: &'a Arc<Node<E>>, ranks: std::ops::Range<usize>) -> Self {
        Self { root, items: [].iter(), siblings: [].iter(), ranks }
    }

    /// Moves to the leaf of `rank`, the first one after the current leaf.
    #[cold]
    fn next_leaf(&mut self, rank: usize) -> Option<&'a E> {
        if let Some(leaf) = self.siblings.next() {
            self.items = leaf.node.items().iter();
        } else {
            let place = Node::seek(self.root, rank);
            self.items = place.leaf.items().get(place.index..)?.iter();
            self.siblings = place.siblings;
        }
        self.items.next()
    }
}

impl<'a, E> Iterator for Range<'a, E> {
    type Item = &'a E;

    fn next(&mut self) -> Option<&'a E> {
        let rank = self.ranks.next()?;
        match self.items.next() {
            Some(element) => Some(element),
            None => self.next_leaf(rank),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.ranks.size_hint()
    }
}

impl<E> ExactSizeIterator for Range<'_, E> {}
impl<E> FusedIterator for Range<'_, E> {}

/// A position in an owned snapshot, for a reader that continues later, such as a list streamed to a client.
/// It keeps every element of its snapshot in memory until it is dropped.
pub struct Cursor<E> {
    root: Arc<Node<E>>,
    /// The current leaf,
    leaf: Arc<Node<E>>,
    /// and the remaining indexes in it.
    indices: std::ops::Range<usize>,
    ranks: std::ops::Range<usize>,
}

impl<E> Cursor<E> {
    pub(super) fn new(root: Arc<Node<E>>, ranks: std::ops::Range<usize>) -> Self {
        let (leaf, indices) = Node::seek(&root, ranks.start).leaf_from();
        Self { root, leaf, indices, ranks }
    }

    /// The next element, borrowed and not cloned: readers of the same objects on other cores do not contend
    /// for reference counts.
    #[expect(clippy::should_implement_trait, reason = "an iterator cannot lend from itself")]
    pub fn next(&mut self) -> Option<&E> {
        let rank = self.ranks.next()?;
        if self.indices.is_empty() {
            (self.leaf, self.indices) = Node::seek(&self.root, rank).leaf_from();
        }
        self.leaf.items().get(self.indices.next()?)
    }

    /// Number of elements that [`next`](Self::next) has not returned yet.
    pub fn remaining(&self) -> usize {
        self.ranks.len()
    }
}

impl<E> LeafPosition<'_, E> {
    /// A handle to the leaf, and the indexes in it from this position on.
    fn leaf_from(&self) -> (Arc<Node<E>>, std::ops::Range<usize>) {
        (Arc::clone(self.leaf), self.index..self.leaf.items().len())
    }
}
