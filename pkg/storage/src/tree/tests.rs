//! The tree compared with a `BTreeMap`, snapshots, and structural invariants.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod shape;

use std::collections::BTreeMap;
use std::ops::Bound::{self, Excluded, Included, Unbounded};

use super::*;
use shape::check_node;

/// An element: a key and a version.
#[derive(Debug, PartialEq, Eq)]
struct Pod {
    key: String,
    version: u64,
}

impl Keyed for Pod {
    type Key<'a> = &'a str;
    fn key(&self) -> &str {
        &self.key
    }
    fn compare(&self, key: &&str) -> Ordering {
        self.key.as_str().cmp(key)
    }
}

/// The same elements in the order of their last letter: an index with few terms.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ByLetter(Arc<Pod>);

impl Keyed for ByLetter {
    type Key<'a> = (&'a str, &'a str);
    fn key(&self) -> (&str, &str) {
        let key = self.0.key.as_str();
        (&key[key.len() - 1..], key)
    }
    fn compare(&self, key: &(&str, &str)) -> Ordering {
        self.key().cmp(key)
    }
}

type Model = BTreeMap<String, Arc<Pod>>;

/// Xorshift64*: the same seed gives the same test.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    fn bound<'a>(&mut self, key: &'a str) -> Bound<&'a str> {
        [Included(key), Excluded(key), Unbounded][self.below(3)]
    }
}

fn key(i: usize) -> String {
    format!("/pods/ns-{}/{i:05x}", i % 7)
}

fn pod(i: usize, version: u64) -> Arc<Pod> {
    Arc::new(Pod { key: key(i), version })
}

fn sorted(n: usize) -> Vec<Arc<Pod>> {
    let mut pods: Vec<_> = (0..n).map(|i| pod(i, 0)).collect();
    pods.sort_by(|a, b| a.key.cmp(&b.key));
    pods
}

/// A tree built by inserts in scattered order, so that its nodes have various sizes.
fn grown(n: usize) -> Tree<Arc<Pod>> {
    let mut tree = Tree::default();
    // A prime greater than all `n` used here, so that each index occurs once.
    for i in (0..100_003).map(|i| i * 61_813 % 100_003).filter(|i| *i < n) {
        tree.insert(pod(i, 0));
    }
    tree
}

/// Checks the tree's invariants and that it equals the model; returns its height.
#[track_caller]
fn check(tree: &Tree<Arc<Pod>>, model: &Model) -> usize {
    let (height, len) = check_node(&tree.root, None);
    if let Node::Branch(children) = tree.root.as_ref() {
        assert!(children.len() > 1, "a root branches");
    }
    assert_eq!((tree.len(), tree.is_empty()), (len, len == 0));
    assert_eq!(len, model.len());
    assert!(tree.iter().zip(model.values()).all(|(a, b)| Arc::ptr_eq(a, b)));
    height
}

/// Checks a range, its cursor and its count against the model.
#[track_caller]
fn check_range(tree: &Tree<Arc<Pod>>, model: &Model, from: Bound<&str>, to: Bound<&str>) {
    // Filtered, because the map's own range panics on an inverted range, which is empty here.
    let after = |key: &str| match from {
        Included(from) => key >= from,
        Excluded(from) => key > from,
        Unbounded => true,
    };
    let before = |key: &str| match to {
        Included(to) => key <= to,
        Excluded(to) => key < to,
        Unbounded => true,
    };
    let expected: Vec<_> = model.values().filter(|pod| after(&pod.key) && before(&pod.key)).collect();

    let range = tree.range(from, to);
    assert_eq!(range.len(), expected.len(), "{from:?}..{to:?}");
    assert!(range.eq(expected.iter().copied()), "{from:?}..{to:?}");
    assert_eq!(tree.count(from, to), expected.len());

    let mut cursor = tree.cursor(from, to);
    for (i, pod) in expected.iter().enumerate() {
        assert_eq!(cursor.remaining(), expected.len() - i);
        assert!(Arc::ptr_eq(cursor.next().unwrap(), pod));
    }
    assert_eq!((cursor.remaining(), cursor.next()), (0, None));
    assert_eq!(cursor.next(), None, "an ended cursor stays at its end");
}

/// Runs seeded changes in alternating phases of growth and shrinking, and checks everything.
fn check_changes(seed: u64, steps: usize, keys: usize) {
    let mut random = Random(seed);
    let mut tree = Tree::default();
    let mut model = Model::new();
    let mut snapshots: Vec<(Tree<Arc<Pod>>, Model)> = Vec::new();
    for step in 0..steps {
        let i = random.below(keys);
        let inserts = if (step / (2 * keys)).is_multiple_of(2) { 7 } else { 3 };
        if random.below(10) < inserts {
            let pod = pod(i, step as u64);
            assert_eq!(tree.insert(Arc::clone(&pod)), model.insert(pod.key.clone(), pod));
        } else {
            assert_eq!(tree.remove(&key(i)), model.remove(&key(i)));
        }

        let a = key(random.below(keys));
        let b = key(random.below(keys));
        assert_eq!(tree.get(&a), model.get(&a));
        if step % 16 == 0 {
            assert_eq!(tree.rank(&a), model.range::<str, _>((Unbounded, Excluded(a.as_str()))).count());
            check_range(&tree, &model, random.bound(&a), random.bound(&b));
            check(&tree, &model);
        }
        if random.below(64) == 0 {
            snapshots.push((tree.clone(), model.clone()));
        }
        if snapshots.len() > 32 {
            snapshots.swap_remove(random.below(32));
        }
    }
    check(&tree, &model);
    for (tree, model) in &snapshots {
        check(tree, model);
    }
}

#[test]
fn changes_match_a_map_and_keep_snapshots() {
    // Few keys: roots are created and removed. Many: three levels and more.
    for (seed, steps, keys) in [(1, 4_000, 8), (2, 8_000, 80), (3, 12_000, 800), (4, 16_000, 4_000)] {
        check_changes(seed, steps, keys);
    }
}

#[test]
fn ranges_match_a_map() {
    let tree = grown(1_000);
    let model: Model = tree.iter().map(|pod| (pod.key.clone(), Arc::clone(pod))).collect();
    let absent = ["", "/pods/ns-3/", "/pods/ns-3/00100x", "/pods0"].map(String::from);
    let probes: Vec<_> = (0..1_000).step_by(157).map(key).chain(absent).collect();
    for a in &probes {
        for b in &probes {
            for from in [Included(a.as_str()), Excluded(a), Unbounded] {
                for to in [Included(b.as_str()), Excluded(b), Unbounded] {
                    check_range(&tree, &model, from, to);
                }
            }
        }
    }
}

#[test]
fn removing_all_elements_empties_the_tree() {
    let n = 3_000;
    let full = grown(n);
    let ascending: Vec<_> = full.iter().map(|pod| pod.key.clone()).collect();
    let descending = ascending.iter().rev().cloned().collect();
    let scattered = (0..n).map(|i| key(i * 1_301 % n)).collect();
    for order in [ascending, descending, scattered] {
        let mut tree = full.clone();
        let mut model: Model = tree.iter().map(|pod| (pod.key.clone(), Arc::clone(pod))).collect();
        for (i, key) in order.iter().enumerate() {
            assert_eq!(tree.remove(key), model.remove(key));
            if i % 50 == 0 {
                check(&tree, &model);
            }
        }
        assert_eq!(check(&tree, &model), 1, "the height shrinks with the content");
        assert_eq!(tree.remove(&key(0)), None);
        assert_eq!(full.len(), n);
    }
}

#[test]
fn replaced_and_removed_elements_are_dropped() {
    let mut tree = grown(2_000);
    for i in 0..2_000 {
        let old = tree.insert(pod(i, 1)).unwrap();
        assert_eq!((old.version, Arc::strong_count(&old)), (0, 1), "{}", old.key);
        if i % 2 == 0 {
            let old = tree.remove(&key(i)).unwrap();
            assert_eq!((old.version, Arc::strong_count(&old)), (1, 1), "{}", old.key);
        }
    }
}

#[test]
fn bulk_load_accepts_unsorted_elements() {
    // Every third index is late, and occurs again with a higher version.
    let order = (0..500).flat_map(|i| [(i * 3, 1), (i, 2)]);
    let mut model = Model::new();
    let pods: Vec<_> = order.map(|(i, version)| pod(i, version)).collect();
    for pod in &pods {
        model.insert(pod.key.clone(), Arc::clone(pod));
    }
    check(&Tree::from_sorted(pods), &model);
}

#[test]
fn index_range_is_in_key_order() {
    let pods = sorted(2_000);
    let mut index = Tree::default();
    for pod in &pods {
        index.insert(ByLetter(Arc::clone(pod)));
    }
    let on_c = index.range(Included(("c", "/pods/ns-2/")), Excluded(("c", "/pods/ns-4/")));
    let expected = pods.iter().filter(|pod| {
        pod.key.ends_with('c') && (pod.key.starts_with("/pods/ns-2/") || pod.key.starts_with("/pods/ns-3/"))
    });
    assert!(on_c.len() > 10);
    assert!(on_c.map(|entry| &entry.0).eq(expected));

    let entry = ByLetter(Arc::clone(&pods[3]));
    assert_eq!(index.remove(entry.key()), Some(entry));
}

#[test]
fn a_cursor_keeps_to_its_snapshot() {
    let mut tree = grown(500);
    let before: Vec<_> = tree.iter().cloned().collect();
    let mut cursor = tree.cursor(Unbounded, Unbounded);
    for pod in &before {
        assert!(tree.remove(&pod.key).is_some());
        assert_eq!(cursor.next(), Some(pod));
    }
    assert_eq!(cursor.next(), None);
}

#[test]
fn trees_and_cursors_are_send_and_sync() {
    fn check<T: Send + Sync + 'static>(_: &T) {}
    let tree = grown(1);
    check(&tree.cursor(Unbounded, Unbounded));
    check(&tree);
}
