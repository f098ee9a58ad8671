//! The snapshot structure of stores and caches: an ordered set with O(1) snapshots.
//!
//! [`Tree`] is a persistent B+tree. Elements sit in leaves, in key order; a clone shares every node
//! with its original, and a change copies only the nodes on its path that are still shared. So a
//! reader takes a snapshot for the price of one reference count and walks it for as long as it
//! likes, without a lock, while the writer goes on; and a batch of changes between two snapshots
//! copies each node at most once, whatever its length.
//!
//! Every branch knows how many elements each child holds. A position in the tree is therefore a
//! number, its *rank* (how many elements come before), a range is two ranks, and both the count of
//! what is left of a page and the resumption of a scan are one descent.
//!
//! ```text
//! branch   first  len  node      `first` is the least element below, shared with its leaf:
//!            │     │    │        no key is ever copied
//! leaf     element element element …
//! ```

mod node;
mod range;

use std::cmp::Ordering;
use std::fmt;
use std::ops::Bound;
use std::sync::Arc;

use node::{Items, Node};

pub use range::{Cursor, Range};

/// An element that carries its own key. The key must not change while the element is in a tree.
///
/// `Key` is what a lookup is asked for: borrowed, so that no lookup allocates. A storage key is a
/// `&str`, whose order is the byte order of etcd. An index over the same elements is a tree of a
/// wrapper with a compound key; its entries with one term and a key in `[start, end)` are the range
/// from `(term, start)` to `(term, end)`:
///
/// ```
/// # use storage::tree::{Keyed, Tree};
/// # use std::{cmp::Ordering, ops::Bound, sync::Arc};
/// struct Pod { key: String, node: String }
///
/// #[derive(Clone)]
/// struct ByNode(Arc<Pod>);
///
/// impl Keyed for ByNode {
///     type Key<'a> = (&'a str, &'a str);
///     fn key(&self) -> (&str, &str) {
///         (&self.0.node, &self.0.key)
///     }
///     fn compare(&self, key: &(&str, &str)) -> Ordering {
///         self.key().cmp(key)
///     }
/// }
///
/// let mut by_node = Tree::default();
/// for (key, node) in [("/pods/a", "n2"), ("/pods/b", "n1"), ("/pods/c", "n2")] {
///     by_node.insert(ByNode(Arc::new(Pod { key: key.into(), node: node.into() })));
/// }
/// let on_n2 = by_node.range(Bound::Included(("n2", "/pods/")), Bound::Excluded(("n2", "/pods0")));
/// assert!(on_n2.map(|entry| entry.0.key.as_str()).eq(["/pods/a", "/pods/c"]));
/// ```
pub trait Keyed {
    /// What the order is by.
    type Key<'a>: Copy
    where
        Self: 'a;

    /// The key of this element.
    fn key(&self) -> Self::Key<'_>;

    /// How this element's key stands to `key`: always `self.key().cmp(key)`, which only a concrete
    /// type can say, since the two keys are borrowed for different times.
    fn compare(&self, key: &Self::Key<'_>) -> Ordering;
}

impl<T: Keyed> Keyed for Arc<T> {
    type Key<'a>
        = T::Key<'a>
    where
        T: 'a;

    fn key(&self) -> T::Key<'_> {
        T::key(self)
    }

    fn compare(&self, key: &T::Key<'_>) -> Ordering {
        T::compare(self, key)
    }
}

/// An ordered set of elements with distinct keys; `clone` is a snapshot and costs O(1).
///
/// `E` is cloned when a shared node is copied, and once more for the least element of each node:
/// make it an `Arc`.
#[derive(Clone)]
pub struct Tree<E> {
    root: Arc<Node<E>>,
    len: usize,
}

impl<E> Default for Tree<E> {
    fn default() -> Self {
        Self { root: Arc::new(Node::Leaf(Items::new())), len: 0 }
    }
}

impl<E: Keyed + Clone> Tree<E> {
    /// Builds a tree with full nodes in O(n) from elements in ascending order.
    ///
    /// Order is an expectation, not a condition: an element that does not come after its
    /// predecessors is inserted at the end, and of several with one key the last stays.
    pub fn from_sorted(elements: impl IntoIterator<Item = E>) -> Self {
        let mut late = Vec::new();
        let (root, len) = node::pack(elements, &mut late);
        let mut tree = Self { root, len };
        for element in late {
            tree.insert(element);
        }
        tree
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The element with this key.
    pub fn get(&self, key: E::Key<'_>) -> Option<&E> {
        self.root.get(&key)
    }

    /// Puts `element` in its place, and returns the one with the same key that was there.
    pub fn insert(&mut self, element: E) -> Option<E> {
        let (replaced, right) = Arc::make_mut(&mut self.root).insert(element);
        self.len += usize::from(replaced.is_none());
        if let Some(right) = right {
            Node::grow(&mut self.root, right);
        }
        replaced
    }

    /// Takes out the element with this key.
    pub fn remove(&mut self, key: E::Key<'_>) -> Option<E> {
        // Look first: a miss must not copy the path to where the key is not.
        self.get(key)?;
        let removed = Arc::make_mut(&mut self.root).remove(&key)?;
        self.len -= 1;
        Node::shrink(&mut self.root);
        Some(removed)
    }

    /// All elements in order.
    pub fn iter(&self) -> Range<'_, E> {
        Range::new(&self.root, 0..self.len)
    }

    /// The elements between two keys, in order. A range that ends before it begins is empty.
    pub fn range(&self, from: Bound<E::Key<'_>>, to: Bound<E::Key<'_>>) -> Range<'_, E> {
        Range::new(&self.root, self.ranks(from, to))
    }

    /// As [`range`](Self::range), but owning a snapshot: it can be kept across await points and
    /// does not see later changes.
    pub fn cursor(&self, from: Bound<E::Key<'_>>, to: Bound<E::Key<'_>>) -> Cursor<E> {
        Cursor::new(Arc::clone(&self.root), self.ranks(from, to))
    }

    /// How many elements are between two keys, in O(log n).
    pub fn count(&self, from: Bound<E::Key<'_>>, to: Bound<E::Key<'_>>) -> usize {
        self.ranks(from, to).len()
    }

    /// How many elements come before `key`, whether or not it is there, in O(log n).
    pub fn rank(&self, key: E::Key<'_>) -> usize {
        self.root.rank(|element| element.compare(&key).is_lt())
    }

    /// The ranks of the elements between two keys.
    fn ranks(&self, from: Bound<E::Key<'_>>, to: Bound<E::Key<'_>>) -> std::ops::Range<usize> {
        let up_to = |key: E::Key<'_>| self.root.rank(|element| element.compare(&key).is_le());
        let start = match from {
            Bound::Unbounded => 0,
            Bound::Included(key) => self.rank(key),
            Bound::Excluded(key) => up_to(key),
        };
        let end = match to {
            Bound::Unbounded => self.len,
            Bound::Included(key) => up_to(key),
            Bound::Excluded(key) => self.rank(key),
        };
        start..end
    }
}

impl<E: Keyed + Clone + fmt::Debug> fmt::Debug for Tree<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests;
