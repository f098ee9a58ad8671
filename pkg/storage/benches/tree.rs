//! Cost of the snapshot tree compared with a `BTreeMap` without snapshots: `cargo bench -p mainstay-storage`.
//!
//! Keys look like those of pods. Both contain the same `Arc`ed elements and compare keys in them, so that
//! both pay for a key's cache miss.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::hint::black_box;
use std::ops::Bound;
use std::sync::Arc;

use divan::Bencher;
use storage::tree::{Keyed, Tree};

const ELEMENTS: usize = 50_000;
const CHANGES: usize = 4_096;
const PAGE: usize = 5_000;

/// The part of an object that the tree uses.
struct Pod {
    key: String,
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

/// A pod as a map key.
#[derive(Clone)]
struct ByKey(Arc<Pod>);

impl std::borrow::Borrow<str> for ByKey {
    fn borrow(&self) -> &str {
        &self.0.key
    }
}

impl Ord for ByKey {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.key.cmp(&other.0.key)
    }
}

impl PartialOrd for ByKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for ByKey {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for ByKey {}

/// The `i`-th pod; odd multiplication scatters consecutive pods over the key space.
fn pod(i: usize) -> Arc<Pod> {
    let name = (i as u32).wrapping_mul(0x9e37_79b1);
    Arc::new(Pod { key: format!("/registry/pods/namespace-{:02}/workload-{name:08x}", name % 50) })
}

fn pods(range: std::ops::Range<usize>) -> Vec<Arc<Pod>> {
    range.map(pod).collect()
}

fn tree(pods: &[Arc<Pod>]) -> Tree<Arc<Pod>> {
    let mut tree = Tree::default();
    for pod in pods {
        tree.insert(Arc::clone(pod));
    }
    tree
}

fn map(pods: &[Arc<Pod>]) -> BTreeMap<ByKey, ()> {
    pods.iter().map(|pod| (ByKey(Arc::clone(pod)), ())).collect()
}

fn main() {
    divan::main();
}

/// Cost per insert, with a snapshot kept after every `every` inserts (0: never).
#[divan::bench(args = [0, 64, 1])]
fn insert_with_a_snapshot_every(bencher: Bencher, every: usize) {
    let full = tree(&pods(0..ELEMENTS));
    let new = pods(ELEMENTS..ELEMENTS + CHANGES);
    bencher
        .counter(divan::counter::ItemsCount::new(CHANGES))
        // The original is the first snapshot, unless there are none.
        .with_inputs(|| if every == 0 { tree(&pods(0..ELEMENTS)) } else { full.clone() })
        .bench_local_values(|mut tree| {
            let mut snapshots = Vec::with_capacity(CHANGES);
            for (i, pod) in new.iter().enumerate() {
                tree.insert(Arc::clone(pod));
                if every != 0 && i % every == 0 {
                    snapshots.push(tree.clone());
                }
            }
            (tree, snapshots)
        });
}

/// The same without snapshots.
#[divan::bench]
fn insert_btreemap(bencher: Bencher) {
    let new = pods(ELEMENTS..ELEMENTS + CHANGES);
    bencher
        .counter(divan::counter::ItemsCount::new(CHANGES))
        .with_inputs(|| map(&pods(0..ELEMENTS)))
        .bench_local_values(|mut map| {
            for pod in &new {
                map.insert(ByKey(Arc::clone(pod)), ());
            }
            map
        });
}

/// Replaces an element while the last snapshot is alive: an update, the most frequent event.
#[divan::bench]
fn replace_with_the_last_snapshot_alive(bencher: Bencher) {
    let mut tree = tree(&pods(0..ELEMENTS));
    let new = pods(0..CHANGES);
    bencher.counter(divan::counter::ItemsCount::new(CHANGES)).bench_local(|| {
        for pod in &new {
            let before = tree.clone();
            tree.insert(Arc::clone(pod));
            black_box(before);
        }
    });
}

/// Looks up a twelfth of the elements in random order; cost per lookup.
#[divan::bench]
fn get(bencher: Bencher) {
    let pods = pods(0..ELEMENTS);
    let tree = tree(&pods);
    bencher.counter(divan::counter::ItemsCount::new(CHANGES)).bench(|| {
        pods.iter()
            .step_by(ELEMENTS / CHANGES)
            .take(CHANGES)
            .filter_map(|pod| tree.get(black_box(&pod.key)))
            .count()
    });
}

#[divan::bench]
fn get_btreemap(bencher: Bencher) {
    let pods = pods(0..ELEMENTS);
    let map = map(&pods);
    bencher.counter(divan::counter::ItemsCount::new(CHANGES)).bench(|| {
        pods.iter()
            .step_by(ELEMENTS / CHANGES)
            .take(CHANGES)
            .filter_map(|pod| map.get(black_box(pod.key.as_str())))
            .count()
    });
}

/// A page of a list, with the count of the remaining elements; cost per element.
#[divan::bench]
fn scan(bencher: Bencher) {
    let tree = tree(&pods(0..ELEMENTS));
    let from = Bound::Included("/registry/pods/namespace-2");
    bencher.counter(divan::counter::ItemsCount::new(PAGE)).bench(|| {
        let mut range = tree.range(black_box(from), Bound::Unbounded);
        let page = range.by_ref().take(PAGE).fold(0, |sum, pod| sum + Arc::as_ptr(pod).addr() % 7);
        (page, range.len())
    });
}

/// The same through an owning cursor.
#[divan::bench]
fn scan_cursor(bencher: Bencher) {
    let tree = tree(&pods(0..ELEMENTS));
    let from = Bound::Included("/registry/pods/namespace-2");
    bencher.counter(divan::counter::ItemsCount::new(PAGE)).bench(|| {
        let mut cursor = tree.cursor(black_box(from), Bound::Unbounded);
        let mut page = 0;
        for _ in 0..PAGE {
            page += cursor.next().map_or(0, |pod| Arc::as_ptr(pod).addr() % 7);
        }
        (page, cursor.remaining())
    });
}

/// The same in a map, which cannot count the remaining elements.
#[divan::bench]
fn scan_btreemap(bencher: Bencher) {
    let map = map(&pods(0..ELEMENTS));
    let from = Bound::Included("/registry/pods/namespace-2");
    bencher.counter(divan::counter::ItemsCount::new(PAGE)).bench(|| {
        let range = map.range::<str, _>((black_box(from), Bound::Unbounded));
        range.take(PAGE).fold(0, |sum, (pod, ())| sum + Arc::as_ptr(&pod.0).addr() % 7)
    });
}

/// Bulk load; cost per element.
#[divan::bench]
fn from_sorted(bencher: Bencher) {
    let mut pods = pods(0..ELEMENTS);
    pods.sort_by(|a, b| a.key.cmp(&b.key));
    bencher
        .counter(divan::counter::ItemsCount::new(ELEMENTS))
        .with_inputs(|| pods.clone())
        .bench_values(Tree::from_sorted);
}
