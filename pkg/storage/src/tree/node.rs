//! Nodes of the tree: search, copy-on-write changes, splitting and merging.
//!
//! Invariants between calls:
//!
//! - All leaves are at the same depth, and no node is empty except the root of an empty tree.
//! - A root that is a branch has at least two children.
//! - Two neighbours under one branch together contain more than half of a node's capacity. There is no
//!   minimum for a single node: a change then touches a sibling only to merge with it, never to borrow from
//!   it, which would copy two nodes instead of one.

use std::cmp::Ordering;
use std::sync::Arc;
use std::{mem, slice};

use smallvec::SmallVec;

use super::Keyed;

// The widths are measured (benches/tree.rs). Wider nodes are not faster to search, because a lookup is
// dominated by cache misses on keys. They cost more with snapshots, because a copy increments the reference
// counts of all its shared entries. A copied path is 1.5 KiB at 50,000 elements. Both kinds of node should
// have about the same size.

pub(super) const LEAF_MAX: usize = 32;
pub(super) const BRANCH_MAX: usize = 11;

/// Elements of a leaf, in order. Stored inline: a node is one allocation.
pub(super) type Items<E> = SmallVec<[E; LEAF_MAX]>;
pub(super) type Children<E> = SmallVec<[Child<E>; BRANCH_MAX]>;

/// A node, always behind an `Arc`. Both kinds have about the same size.
#[derive(Clone)]
pub(super) enum Node<E> {
    Leaf(Items<E>),
    Branch(Children<E>),
}

/// A child in its branch.
#[derive(Clone)]
pub(super) struct Child<E> {
    /// The least element below. Always the same one as in the leaf: a stale one would keep a replaced or
    /// removed object in memory.
    pub(super) first: E,
    /// The number of elements below.
    pub(super) len: usize,
    pub(super) node: Arc<Node<E>>,
}

/// The position of a rank: see [`Node::seek`].
pub(super) struct LeafPosition<'a, E> {
    /// The leaf that contains it,
    pub(super) leaf: &'a Arc<Node<E>>,
    /// its index there,
    pub(super) index: usize,
    /// and the leaves that follow under the same branch.
    pub(super) siblings: slice::Iter<'a, Child<E>>,
}

// Reading.
impl<E> Node<E> {
    /// Number of elements that satisfy `before`, which must be true for a prefix of the order.
    pub(super) fn rank(&self, before: impl Fn(&E) -> bool) -> usize {
        let mut node = self;
        let mut rank = 0;
        loop {
            match node {
                Self::Leaf(items) => return rank + items.partition_point(&before),
                Self::Branch(children) => {
                    let at = children.partition_point(|child| before(&child.first)).saturating_sub(1);
                    rank += children[..at].iter().map(|child| child.len).sum::<usize>();
                    node = &children[at].node;
                }
            }
        }
    }

    /// The position of the element with `rank` others before it, or the end of the last leaf.
    pub(super) fn seek(root: &Arc<Self>, mut rank: usize) -> LeafPosition<'_, E> {
        let mut leaf = root;
        let mut siblings = [].iter();
        while let Self::Branch(children) = leaf.as_ref() {
            let mut at = 0;
            while at + 1 < children.len() && rank >= children[at].len {
                rank -= children[at].len;
                at += 1;
            }
            siblings = children[at + 1..].iter();
            leaf = &children[at].node;
        }
        LeafPosition { leaf, index: rank.min(leaf.items().len()), siblings }
    }

    pub(super) fn items(&self) -> &[E] {
        match self {
            Self::Leaf(items) => items,
            Self::Branch(_) => &[],
        }
    }
}

impl<E: Keyed> Node<E> {
    pub(super) fn get(&self, key: &E::Key<'_>) -> Option<&E> {
        let mut node = self;
        loop {
            match node {
                Self::Leaf(items) => return items.get(search(items, key).ok()?),
                Self::Branch(children) => node = &children[child_for(children, key)].node,
            }
        }
    }
}

// Writing. The caller must own the node: `Arc::make_mut` copies it only if another tree shares it.
impl<E: Keyed + Clone> Node<E> {
    /// Inserts `element` below. Returns the replaced element and, if this node was full, its right half,
    /// which the caller must insert.
    pub(super) fn insert(&mut self, element: E) -> (Option<E>, Option<Arc<Self>>) {
        match self {
            Self::Leaf(items) => match search(items, &element.key()) {
                Ok(at) => (Some(mem::replace(&mut items[at], element)), None),
                Err(at) => (None, insert_at(items, at, element).map(|items| Arc::new(Self::Leaf(items)))),
            },
            Self::Branch(children) => {
                let at = child_for(children, &element.key());
                let child = &mut children[at];
                if element.compare(&child.first.key()).is_le() {
                    child.first = element.clone();
                }
                let (replaced, right) = Arc::make_mut(&mut child.node).insert(element);
                child.len += usize::from(replaced.is_none());
                let Some(right) = right.map(Child::new) else { return (replaced, None) };
                child.len -= right.len;
                let right = insert_at(children, at + 1, right);
                (replaced, right.map(|children| Arc::new(Self::Branch(children))))
            }
        }
    }

    /// Removes the element with `key`, if present.
    pub(super) fn remove(&mut self, key: &E::Key<'_>) -> Option<E> {
        match self {
            Self::Leaf(items) => search(items, key).ok().map(|at| items.remove(at)),
            Self::Branch(children) => {
                let at = child_for(children, key);
                let child = &mut children[at];
                let removed = Arc::make_mut(&mut child.node).remove(key)?;
                child.len -= 1;
                if child.len == 0 {
                    // Each neighbour contains more than half a node together with this one, so at least half
                    // without it: they need not merge with each other.
                    children.remove(at);
                    return Some(removed);
                }
                if child.first.compare(key).is_eq() {
                    child.first = child.node.first().clone();
                }
                merge_around(children, at);
                Some(removed)
            }
        }
    }

    /// Creates a branch above a root and the right half split off from it.
    pub(super) fn grow(root: &mut Arc<Self>, right: Arc<Self>) {
        let halves = [Child::new(Arc::clone(root)), Child::new(right)];
        *root = Arc::new(Self::Branch(Children::from_iter(halves)));
    }

    /// Removes roots with a single child, or none.
    pub(super) fn shrink(root: &mut Arc<Self>) {
        while let Self::Branch(children) = root.as_ref() {
            *root = match children.as_slice() {
                [] => Arc::new(Self::Leaf(Items::new())),
                [only] => Arc::clone(&only.node),
                _ => return,
            };
        }
    }

    /// Moves the content of the node to the right, of the same depth, into this one.
    fn append(&mut self, right: Self) {
        match (self, right) {
            (Self::Leaf(left), Self::Leaf(right)) => left.extend(right),
            (Self::Branch(left), Self::Branch(right)) => {
                let seam = left.len();
                left.extend(right);
                merge_around(left, seam);
            }
            _ => unreachable!("all leaves are at one depth"),
        }
    }

    /// The least element below. The node must not be empty.
    fn first(&self) -> &E {
        match self {
            Self::Leaf(items) => &items[0],
            Self::Branch(children) => &children[0].first,
        }
    }
}

impl<E: Keyed + Clone> Child<E> {
    /// A child entry for a node that is not empty.
    pub(super) fn new(node: Arc<Node<E>>) -> Self {
        let len = match node.as_ref() {
            Node::Leaf(items) => items.len(),
            Node::Branch(children) => children.iter().map(|child| child.len).sum(),
        };
        Self { first: node.first().clone(), len, node }
    }

    /// True if this node and its right neighbour are small enough to merge.
    fn merges_with(&self, right: &Self) -> bool {
        match (self.node.as_ref(), right.node.as_ref()) {
            (Node::Branch(left), Node::Branch(right)) => left.len() + right.len() <= BRANCH_MAX / 2,
            _ => self.len + right.len <= LEAF_MAX / 2,
        }
    }
}

/// Merges the child at `at`, which has become smaller, with its neighbours while they fit.
fn merge_around<E: Keyed + Clone>(children: &mut Children<E>, mut at: usize) {
    loop {
        let left = match (at.checked_sub(1), children.get(at), children.get(at + 1)) {
            (Some(before), Some(this), _) if children[before].merges_with(this) => before,
            (_, Some(this), Some(after)) if this.merges_with(after) => at,
            _ => return,
        };
        let right = children.remove(left + 1);
        let left_child = &mut children[left];
        left_child.len += right.len;
        Arc::make_mut(&mut left_child.node).append(Arc::unwrap_or_clone(right.node));
        at = left;
    }
}

// The two searches below branch on each comparison, unlike the standard library's `binary_search_by`, whose
// steps each wait for the previous one. Keys are outside the node and mostly not in the CPU cache: with
// branch prediction, the next key is already being loaded. This halves the time of a lookup.

/// The index of `key` in a leaf, or its insertion point.
fn search<E: Keyed>(items: &[E], key: &E::Key<'_>) -> Result<usize, usize> {
    let mut low = 0;
    let mut high = items.len();
    while low < high {
        let middle = low.midpoint(high);
        match items[middle].compare(key) {
            Ordering::Less => low = middle + 1,
            Ordering::Equal => return Ok(middle),
            Ordering::Greater => high = middle,
        }
    }
    Err(low)
}

/// The index of the only child that can contain `key`: the last one that begins at or before it.
fn child_for<E: Keyed>(children: &[Child<E>], key: &E::Key<'_>) -> usize {
    children.iter().skip(1).take_while(|child| child.first.compare(key).is_le()).count()
}

/// Inserts into a node. If it is full, splits it in the middle and returns the right half.
fn insert_at<T, const N: usize>(node: &mut SmallVec<[T; N]>, at: usize, item: T) -> Option<SmallVec<[T; N]>> {
    if node.len() < N {
        node.insert(at, item);
        return None;
    }
    let middle = N / 2;
    let mut right: SmallVec<[T; N]> = node.drain(middle..).collect();
    match at.checked_sub(middle) {
        Some(at) if at > 0 => right.insert(at, item),
        _ => node.insert(at, item),
    }
    Some(right)
}

/// Builds full nodes bottom-up from elements in ascending order, and collects the unordered ones in `late`.
/// Returns the root and its number of elements.
pub(super) fn pack<E: Keyed + Clone>(
    elements: impl IntoIterator<Item = E>,
    late: &mut Vec<E>,
) -> (Arc<Node<E>>, usize) {
    let mut level = Vec::new();
    let mut items = Items::<E>::new();
    for element in elements {
        if items.last().is_some_and(|last| element.compare(&last.key()).is_le()) {
            late.push(element);
            continue;
        }
        if items.len() == LEAF_MAX {
            level.push(Child::new(Arc::new(Node::Leaf(mem::take(&mut items)))));
        }
        items.push(element);
    }
    if level.is_empty() {
        let len = items.len();
        return (Arc::new(Node::Leaf(items)), len);
    }
    level.push(Child::new(Arc::new(Node::Leaf(items))));
    loop {
        let mut children = mem::take(&mut level).into_iter();
        while children.len() > 0 {
            let children = children.by_ref().take(BRANCH_MAX).collect();
            level.push(Child::new(Arc::new(Node::Branch(children))));
        }
        if level.len() == 1
            && let Some(root) = level.pop()
        {
            return (root.node, root.len);
        }
    }
}
