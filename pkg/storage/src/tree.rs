//! The snapshot structure of stores and caches: an ordered set with O(1) snapshots.
//!
//! [`Tree`] is a persistent B+tree. Elements are in leaves, in key order. A clone shares every node with its
//! original, and a change copies only shared nodes on its path. So a snapshot costs one reference count, and
//! a reader can walk it for any length of time without a lock while the writer continues. A batch of changes
//! between two snapshots copies each node at most once.
//!
//! Every branch has the number of elements of each child. So a position in the tree is a number, its *rank*
//! (the number of preceding elements), and a range is two ranks. Counting the rest of a page and resuming a
//! scan are one descent each.
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

/// An element that contains its own key. The key must not change while the element is in a tree.
///
/// `Key` is the type of lookups: borrowed, so that lookups do not allocate. A storage key is a `&str` in byte
/// order, as in etcd. An index over the same elements is a tree of a wrapper with a compound key; its entries
/// with one term and a key in `[start, end)` are the range from `(term, start)` to `(term, end)`:
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
    /// Borrowed key, whose order is the order of the tree.
    type Key<'a>: Copy
    where
        Self: 'a;

    /// Returns the key of this element.
    fn key(&self) -> Self::Key<'_>;

    /// Compares this element's key with `key`: always `self.key().cmp(key)`. Only a concrete type can
    /// implement this, because the two keys have different lifetimes.
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
/// `E` is cloned when a shared node is copied, and once more for the least element of each node, so it should
/// be an `Arc`.
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
    /// Unordered elements are allowed but slower: they are inserted at the end. The last of several elements
    /// with the same key wins.
    pub fn from_sorted(elements: impl IntoIterator<Item = E>) -> Self {
        let mut late = Vec::new();
        let (root, len) = node::pack(elements, &mut late);
        let mut tree = Self { root, len };
        for element in late {
            tree.insert(element);
        }
        tree
    }

    /// Number of elements, in O(1).
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if the tree has no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The element with this key, in O(log n).
    pub fn get(&self, key: E::Key<'_>) -> Option<&E> {
        self.root.get(&key)
    }

    /// Inserts `element`, and returns the replaced one with the same key.
    pub fn insert(&mut self, element: E) -> Option<E> {
        let (replaced, right) = Arc::make_mut(&mut self.root).insert(element);
        self.len += usize::from(replaced.is_none());
        if let Some(right) = right {
            Node::grow(&mut self.root, right);
        }
        replaced
    }

    /// Removes and returns the element with this key. A miss copies no nodes.
    pub fn remove(&mut self, key: E::Key<'_>) -> Option<E> {
        // Check first: a miss must not copy the path.
        self.get(key)?;
        let removed = Arc::make_mut(&mut self.root).remove(&key)?;
        self.len -= 1;
        Node::shrink(&mut self.root);
        Some(removed)
    }

    /// All elements, in key order.
    pub fn iter(&self) -> Range<'_, E> {
        Range::new(&self.root, 0..self.len)
    }

    /// The elements between two keys, in order. An inverted range is empty.
    pub fn range(&self, from: Bound<E::Key<'_>>, to: Bound<E::Key<'_>>) -> Range<'_, E> {
        Range::new(&self.root, self.ranks(from, to))
    }

    /// Like [`range`](Self::range), but owns a snapshot: it can be held across await points and does not see
    /// later changes.
    pub fn cursor(&self, from: Bound<E::Key<'_>>, to: Bound<E::Key<'_>>) -> Cursor<E> {
        Cursor::new(Arc::clone(&self.root), self.ranks(from, to))
    }

    /// Number of elements between two keys, in O(log n).
    pub fn count(&self, from: Bound<E::Key<'_>>, to: Bound<E::Key<'_>>) -> usize {
        self.ranks(from, to).len()
    }

    /// Number of elements before `key`, which need not exist, in O(log n).
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
