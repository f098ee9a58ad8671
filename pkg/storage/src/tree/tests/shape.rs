//! The structure of the tree: node invariants, sharing, shrinking.

use std::collections::HashSet;

use super::super::node::{BRANCH_MAX, Child, LEAF_MAX};
use super::*;

/// Every node of a tree, by address.
fn nodes<E>(tree: &Tree<E>) -> HashSet<*const Node<E>> {
    fn visit<E>(node: &Arc<Node<E>>, into: &mut HashSet<*const Node<E>>) {
        into.insert(Arc::as_ptr(node));
        if let Node::Branch(children) = node.as_ref() {
            children.iter().for_each(|child| visit(&child.node, into));
        }
    }
    let mut all = HashSet::new();
    visit(&tree.root, &mut all);
    all
}

/// A node's size and capacity.
fn size<E>(node: &Node<E>) -> (usize, usize) {
    match node {
        Node::Leaf(items) => (items.len(), LEAF_MAX),
        Node::Branch(children) => (children.len(), BRANCH_MAX),
    }
}

/// Checks the invariants of [`node`](super::super::node) below `node`; returns its height and its number of
/// elements.
#[track_caller]
pub(super) fn check_node(node: &Node<Arc<Pod>>, least: Option<&Arc<Pod>>) -> (usize, usize) {
    let (held, max) = size(node);
    assert!(held <= max, "a node holds at most {max}");
    assert!(held > 0 || least.is_none(), "no node but the root is empty");
    match node {
        Node::Leaf(items) => {
            assert!(!items.spilled(), "a leaf is one allocation");
            assert!(items.is_sorted_by(|a, b| a.key < b.key));
            if let Some(least) = least {
                assert!(Arc::ptr_eq(least, &items[0]), "a separator is the element itself");
            }
            (1, items.len())
        }
        Node::Branch(children) => {
            assert!(!children.spilled(), "a branch is one allocation");
            if let Some(least) = least {
                assert!(Arc::ptr_eq(least, &children[0].first));
            }
            let below: Vec<_> =
                children.iter().map(|child| check_node(&child.node, Some(&child.first))).collect();
            for (child, (height, len)) in children.iter().zip(&below) {
                assert_eq!((*height, *len), (below[0].0, child.len), "even depth, true counts");
            }
            for pair in children.windows(2) {
                let together = size(&pair[0].node).0 + size(&pair[1].node).0;
                let max = size(&pair[0].node).1;
                assert!(together > max / 2, "neighbours hold more than half a node");
            }
            (below[0].0 + 1, below.iter().map(|(_, len)| len).sum())
        }
    }
}

/// A tree with branches of leaves of these sizes.
fn tree_of(shape: &[&[usize]]) -> Tree<Arc<Pod>> {
    let len = shape.iter().copied().flatten().sum();
    let mut pods = sorted(len).into_iter();
    let mut leaf = |size| Child::new(Arc::new(Node::Leaf(pods.by_ref().take(size).collect())));
    let branches = shape.iter().map(|leaves| {
        let leaves = leaves.iter().map(|size| leaf(*size)).collect();
        Child::new(Arc::new(Node::Branch(leaves)))
    });
    Tree { root: Arc::new(Node::Branch(branches.collect())), len }
}

/// The leaf sizes of a tree of two or three levels.
fn shape_of(tree: &Tree<Arc<Pod>>) -> Vec<Vec<usize>> {
    let sizes = |node: &Node<_>| match node {
        Node::Leaf(_) => None,
        Node::Branch(children) => Some(children.iter().map(|child| size(&child.node).0).collect()),
    };
    let Node::Branch(children) = tree.root.as_ref() else { return Vec::new() };
    let branches: Option<Vec<_>> = children.iter().map(|child| sizes(&child.node)).collect();
    branches.or_else(|| Some(vec![sizes(&tree.root)?])).unwrap()
}

#[test]
fn small_neighbours_merge() {
    // The sizes below are for leaves of 32 and branches of 11.
    assert_eq!((LEAF_MAX / 2, BRANCH_MAX / 2), (16, 5));
    #[track_caller]
    fn check(before: &[&[usize]], removed: usize, after: &[&[usize]]) {
        let mut tree = tree_of(before);
        check_node(&tree.root, None);
        let pod = Arc::clone(tree.iter().nth(removed).unwrap());
        tree.remove(&pod.key);
        assert_eq!(shape_of(&tree), after);
        check_node(&tree.root, None);
    }
    // A leaf merges with the one before or after it; an empty one is removed.
    check(&[&[10, 7, 30, 30, 30], &[30, 30]], 10, &[&[16, 30, 30, 30], &[30, 30]]);
    check(&[&[30, 10, 7, 30, 30], &[30, 30]], 30, &[&[30, 16, 30, 30], &[30, 30]]);
    check(&[&[30, 1, 30, 30, 30], &[30, 30]], 30, &[&[30, 30, 30, 30], &[30, 30]]);
    check(&[&[1], &[30, 30, 30, 30, 30], &[30]], 0, &[&[30, 30, 30, 30, 30], &[30]]);
    // Branches merge and the root is removed; adjacent leaves at the seam merge, too.
    check(&[&[30, 1, 30], &[30, 30, 30]], 30, &[&[30, 30, 30, 30, 30]]);
    check(&[&[1, 30, 5], &[6, 30, 30]], 0, &[&[30, 11, 30, 30]]);
    // The branch then is so small that it merges again.
    check(&[&[5], &[6, 30, 30, 30, 1], &[30]], 101, &[&[11, 30, 30, 30, 30]]);
}

#[test]
fn bulk_load_equals_inserts_at_every_size() {
    let around = |n: usize| [n - 1, n, n + 1];
    let full = LEAF_MAX * BRANCH_MAX;
    let sizes = [vec![0, 1], around(LEAF_MAX).into(), around(full).into(), around(full * BRANCH_MAX).into()];
    for n in sizes.concat() {
        let pods = sorted(n);
        let model: Model = pods.iter().map(|pod| (pod.key.clone(), Arc::clone(pod))).collect();
        let tree = Tree::from_sorted(pods);
        check(&tree, &model);
        let mut dense = n.div_ceil(LEAF_MAX).max(1);
        let mut level = dense;
        while level > 1 {
            level = level.div_ceil(BRANCH_MAX);
            dense += level;
        }
        assert_eq!(nodes(&tree).len(), dense, "as few nodes as hold {n} elements");
    }
}

#[test]
fn change_after_snapshot_copies_one_path() {
    let mut tree = grown(20_000);
    let (height, _) = check_node(&tree.root, None);
    assert!(height > 3);
    for i in (0..20_000).step_by(997) {
        let before = tree.clone();
        assert!(Arc::ptr_eq(&before.root, &tree.root), "a snapshot shares everything");
        let old = nodes(&before);

        tree.insert(pod(i, 1));
        assert_eq!(nodes(&tree).difference(&old).count(), height, "a replacement copies its path");
        tree.insert(pod(i, 2));
        assert_eq!(nodes(&tree).difference(&old).count(), height, "a path is copied once");
        assert_eq!(before.get(&key(i)).unwrap().version, 0, "the snapshot has the old element");

        let mut tree = before.clone();
        tree.insert(pod(30_000 + i, 0));
        assert!(nodes(&tree).difference(&old).count() <= 2 * height, "at worst every node splits");

        let mut tree = before.clone();
        assert_eq!(tree.remove("/pods/none"), None);
        assert!(Arc::ptr_eq(&before.root, &tree.root), "a miss copies nothing");
        tree.remove(&key(i));
        assert!(nodes(&tree).difference(&old).count() <= height);
    }
}

#[test]
fn an_unshared_tree_is_changed_in_place() {
    let mut tree = grown(2_000);
    let before = nodes(&tree);
    for i in 0..2_000 {
        tree.insert(pod(i, 1));
    }
    assert_eq!(nodes(&tree), before);
}
