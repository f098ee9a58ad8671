//! Benchmarks of the cache without its driver: the cost of a change with many watches, and of lists:
//! `cargo bench -p mainstay-cacher --bench fanout`.
#![allow(clippy::unwrap_used, reason = "a bench may say what must hold and stop there")]

use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use apimachinery::labels;
use bytes::Bytes;
use cacher::cache::{Cache, CacheConfig, KeyChange};
use cacher::{
    Element, Field, FieldTerm, Freshness, HeaderBuilder, Ingest, IngestError, ListQuery, Predicate, Scope,
    Watch, WatchQuery, WatchStart,
};
use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use futures::{FutureExt, StreamExt};
use storage::{KeyValue, Revision};
use tokio::runtime::{Builder, Runtime};
use tokio::time::Instant;

const PODS: &str = "/registry/pods/";
const OBJECTS: usize = 5_000;
const NODES: usize = 5_000;
/// Approximate size of a pod in bytes.
const SIZE: usize = 4096;

fn main() {
    divan::main();
}

/// Decodes values that begin with the node's and the app's number; the rest is padding.
struct Numbers;

impl Ingest for Numbers {
    fn ingest(&self, value: Bytes, header: &mut HeaderBuilder) -> Result<Bytes, IngestError> {
        let number = |at: usize| value.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
        let (Some(node), Some(app)) = (number(0), number(4)) else {
            return Err(IngestError::decode("short"));
        };
        header.push_field(&node_name(u32::from_le_bytes(node) as usize));
        header.push_label("app.kubernetes.io/name", &format!("app-{}", u32::from_le_bytes(app)));
        header.push_label("pod-template-hash", "5d4f8c7b9");
        Ok(value)
    }
}

fn node_name(number: usize) -> String {
    format!("node-{number:05}.example.com")
}

fn pod(number: usize, nodes: usize, revision: Revision) -> Arc<Element> {
    let mut value = vec![0; SIZE];
    value[..4].copy_from_slice(&((number % nodes) as u32).to_le_bytes());
    value[4..8].copy_from_slice(&((number % 10) as u32).to_le_bytes());
    let key = format!("{PODS}team-{:02}/web-{number:05}-5d4f8c7b9-abcde", number % 50);
    Element::new(KeyValue::new(key, value, revision), &Numbers)
}

struct World {
    runtime: Runtime,
    cache: Arc<Cache>,
    nodes: usize,
    revision: Revision,
}

impl World {
    /// A cache of pods spread over `nodes` nodes.
    fn new(nodes: usize) -> Self {
        let runtime = Builder::new_current_thread().enable_time().build().unwrap();
        let mut pods: Vec<_> = (0..OBJECTS).map(|number| pod(number, nodes, 1)).collect();
        pods.sort_by(|a, b| a.key().cmp(b.key()));
        let cache = Arc::new(Cache::new(CacheConfig::new(PODS, Some(0)), Instant::now()));
        cache.fill(pods, 1, Vec::new(), Instant::now());
        World { runtime, cache, nodes, revision: 1 }
    }

    fn watch(&self, predicate: Predicate) -> Watch {
        let query = WatchQuery {
            scope: everything(),
            start: WatchStart::After(0),
            predicate,
            bookmarks: true,
            deadline: Instant::now() + Duration::from_secs(3600),
        };
        let mut watch = self.cache.watch(query).unwrap();
        assert_eq!(drain(&mut watch), 0);
        watch
    }

    fn change(&mut self) -> KeyChange {
        self.revision += 1;
        KeyChange::Put(pod(self.revision as usize % OBJECTS, self.nodes, self.revision))
    }
}

/// Reads all available events and registers for more.
fn drain(watch: &mut Watch) -> usize {
    let mut cx = Context::from_waker(Waker::noop());
    let mut events = 0;
    while let Poll::Ready(event) = watch.poll_next_unpin(&mut cx) {
        black_box(event.unwrap().unwrap());
        events += 1;
    }
    events
}

fn everything() -> Scope {
    Scope { prefix: PODS.to_owned(), exact: false }
}

fn on_node(number: usize) -> Predicate {
    let term = FieldTerm { field: Field::Header(0), equal: true, value: node_name(number) };
    Predicate { fields: [term].into_iter().collect(), ..Predicate::default() }
}

fn of_app(name: &str) -> Predicate {
    let labels = labels::Selector::parse(&format!("app.kubernetes.io/name={name}")).unwrap();
    Predicate { labels, ..Predicate::default() }
}

/// One change that is read by 500 watches of everything.
#[divan::bench]
fn one_change_for_500_watches(bencher: Bencher) {
    let mut world = World::new(NODES);
    let runtime = world.runtime.handle().clone();
    let _guard = runtime.enter();
    let mut watches: Vec<Watch> = (0..500).map(|_| world.watch(Predicate::default())).collect();
    let cache = Arc::clone(&world.cache);
    bencher.counter(ItemsCount::new(500usize)).with_inputs(|| world.change()).bench_local_values(|change| {
        cache.apply(vec![change], Instant::now());
        assert_eq!(watches.iter_mut().map(drain).sum::<usize>(), 500);
    });
}

/// One change with 5,000 watches of one node each. One watch reads it.
#[divan::bench]
fn one_change_for_1_of_5000_watches(bencher: Bencher) {
    let mut world = World::new(NODES);
    let runtime = world.runtime.handle().clone();
    let _guard = runtime.enter();
    let mut watches: Vec<Watch> = (0..NODES).map(|node| world.watch(on_node(node))).collect();
    let cache = Arc::clone(&world.cache);
    bencher.with_inputs(|| world.change()).bench_local_values(|change| {
        let node = change.revision() as usize % OBJECTS % NODES;
        cache.apply(vec![change], Instant::now());
        assert_eq!(drain(&mut watches[node]), 1);
    });
}

/// One change without watches: the baseline for the benchmarks above.
#[divan::bench]
fn one_change_for_nobody(bencher: Bencher) {
    let mut world = World::new(NODES);
    let cache = Arc::clone(&world.cache);
    bencher
        .with_inputs(|| world.change())
        .bench_local_values(|change| cache.apply(vec![change], Instant::now()));
}

/// Batches of 100 changes.
#[divan::bench]
fn a_hundred_changes_for_nobody(bencher: Bencher) {
    let mut world = World::new(NODES);
    let cache = Arc::clone(&world.cache);
    bencher
        .counter(ItemsCount::new(100usize))
        .with_inputs(|| (0..100).map(|_| world.change()).collect())
        .bench_local_values(|batch: Vec<KeyChange>| cache.apply(batch, Instant::now()));
}

/// The start and end of a watch.
#[divan::bench]
fn start_and_end_of_a_watch(bencher: Bencher) {
    let world = World::new(NODES);
    let _guard = world.runtime.enter();
    bencher.bench_local(|| drop(world.watch(on_node(7))));
}

fn list(bencher: Bencher, nodes: usize, predicate: &Predicate, expected: usize) {
    let world = World::new(nodes);
    let query = ListQuery {
        scope: everything(),
        start: None,
        limit: 0,
        freshness: Freshness::NotOlderThan(0),
        predicate: predicate.clone(),
    };
    bencher.counter(ItemsCount::new(expected)).bench_local(|| {
        let page =
            world.cache.snapshot().unwrap().list(&query, world.revision).now_or_never().unwrap().unwrap();
        let mut count = 0;
        page.items.iter().visit(|element| {
            count += usize::from(black_box(element).revision() > 0);
            std::ops::ControlFlow::Continue(())
        });
        assert_eq!(count, expected);
    });
}

/// A list of all 5,000 objects.
#[divan::bench]
fn list_everything(bencher: Bencher) {
    list(bencher, NODES, &Predicate::default(), OBJECTS);
}

/// A list of a tenth of 5,000 objects, by a label.
#[divan::bench]
fn list_by_label(bencher: Bencher) {
    list(bencher, NODES, &of_app("app-3"), OBJECTS / 10);
}

/// A list of a hundred of 5,000 objects, by the indexed field.
#[divan::bench]
fn list_by_index(bencher: Bencher) {
    list(bencher, 50, &on_node(7), OBJECTS / 50);
}
