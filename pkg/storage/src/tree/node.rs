//! Nodes of the tree: search, change with copy on write, splitting and merging.
//!
//! What holds between calls:
//!
//! - All leaves are at one depth, and no node is empty but for the root of an empty tree.
//! - A root that is a branch has at least two children.
//! - Two neighbours under one branch together hold more than half of what one node can. There is no
//!   lower limit for a single node: a change then touches a sibling only to merge with it, never to
//!   borrow from it, which would copy two nodes where one will do.

use std::cmp::Ordering;
use std::sync::Arc;
use std::{mem, slice};

use smallvec::SmallVec;

use super::Keyed;

// The widths are measured (benches/tree.rs). Wider nodes find no faster, since a lookup costs its misses on
// keys, and cost more under snapshots, where a copy counts the references to all that it shares; a path of
// copies is 1.5 KiB at 50,000 elements. The two kinds of node should come out about equally large.

/// How many elements a leaf holds at most.
pub(super) const LEAF_MAX: usize = 32;
/// How many children a branch has at most.
pub(super) const BRANCH_MAX: usize = 11;

/// Elements of a leaf, in order. Stored in place: a node is one allocation.
pub(super) type Items<E> = SmallVec<[E; LEAF_MAX]>;
/// Children of a branch, in order.
pub(super) type Children<E> = SmallVec<[Child<E>; BRANCH_MAX]>;

/// A node, always behind an `Arc`. The two kinds take about the same space.
#[derive(Clone)]
pub(super) enum Node<E> {
    Leaf(Items<E>),
    Branch(Children<E>),
}

/// A branch's view of one child.
#[derive(Clone)]
pub(super) struct Child<E> {
    /// The least element below. Always the very one that is in the leaf: a stale one would keep a
    /// replaced or removed object in memory.
    pub(super) first: E,
    /// The number of elements below.
    pub(super) len: usize,
    pub(super) node: Arc<Node<E>>,
}

/// Where a rank is: see [`Node::seek`].
pub(super) struct Place<'a, E> {
    /// The leaf that holds it,
    pub(super) leaf: &'a Arc<Node<E>>,
    /// its index there,
    pub(super) at: usize,
    /// and the leaves that follow under the same branch.
    pub(super) siblings: slice::Iter<'a, Child<E>>,
}

// Reading.
impl<E> Node<E> {
    /// How many elements satisfy `before`, which must hold for a prefix of the order.
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

    /// Where the element with `rank` others before it is, or the end of the last leaf.
    pub(super) fn seek(root: &Arc<Self>, mut rank: usize) -> Place<'_, E> {
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
        Place { leaf, at: rank.min(leaf.items().len()), siblings }
    }

    /// The elements of a leaf.
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

// Writing. Whoever calls has made the node its own: `Arc::make_mut` copies it exactly if another
// tree shares it.
impl<E: Keyed + Clone> Node<E> {
    /// Puts `element` in its place below. Returns the element that it replaces; and, if this node
    /// was full, the right half of it, for which the caller finds a place.
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

    /// Takes out the element with `key`, if it is below.
    pub(super) fn remove(&mut self, key: &E::Key<'_>) -> Option<E> {
        match self {
            Self::Leaf(items) => search(items, key).ok().map(|at| items.remove(at)),
            Self::Branch(children) => {
                let at = child_for(children, key);
                let child = &mut children[at];
                let removed = Arc::make_mut(&mut child.node).remove(key)?;
                child.len -= 1;
                if child.len == 0 {
                    // Each neighbour makes more than half a node with this one, that is at least
                    // half without it: where they meet now, they need not merge.
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

    /// Puts a branch over a root and the right half that it has split off.
    pub(super) fn grow(root: &mut Arc<Self>, right: Arc<Self>) {
        let halves = [Child::new(Arc::clone(root)), Child::new(right)];
        *root = Arc::new(Self::Branch(Children::from_iter(halves)));
    }

    /// Takes away roots with a single child, or none.
    pub(super) fn shrink(root: &mut Arc<Self>) {
        while let Self::Branch(children) = root.as_ref() {
            *root = match children.as_slice() {
                [] => Arc::new(Self::Leaf(Items::new())),
                [only] => Arc::clone(&only.node),
                _ => return,
            };
        }
    }

    /// Moves everything in the node to the right of this one, of the same depth, into this one.
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
    /// The view of a node that is not empty.
    pub(super) fn new(node: Arc<Node<E>>) -> Self {
        let len = match node.as_ref() {
            Node::Leaf(items) => items.len(),
            Node::Branch(children) => children.iter().map(|child| child.len).sum(),
        };
        Self { first: node.first().clone(), len, node }
    }

    /// Whether this node and its right neighbour are so small that they should be one.
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

// The two searches below branch on each comparison, unlike `binary_search_by` of the standard library,
// whose every step waits for the one before. A key lies outside the node and mostly outside the cache:
// a processor that guesses the branch has the next key under way meanwhile. It halves the time of a lookup.

/// The index of `key` in a leaf, or where it would go.
fn search<E: Keyed>(items: &[E], key: &E::Key<'_>) -> Result<usize, usize> {
    let (mut low, mut high) = (0, items.len());
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

/// The index of the only child that can hold `key`: the last that begins at or before it.
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

/// Builds full nodes, bottom up, of the elements that come in ascending order, and puts aside in
/// `late` those that do not. Returns the root and how many elements are under it.
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
