//! Throughput of the embedded store with Kubernetes-sized objects: `cargo bench -p mainstay-storage-embedded`, with
//! the directory to use (its disk matters) as an optional argument.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods)]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use futures::StreamExt;
use storage::{ListOptions, PutResult, Storage, WatchItem, WatchOptions};
use storage_embedded::{EmbeddedStore, Options};

const VALUE_BYTES: usize = 3_000;
const KEYS: usize = 100_000;
const PAGE: usize = 1_000;
const TIME: Duration = Duration::from_secs(5);

#[tokio::main]
async fn main() {
    let parent = std::env::args().skip(1).find(|arg| !arg.starts_with('-')).map(PathBuf::from);
    let dir = tempfile::tempdir_in(parent.unwrap_or_else(std::env::temp_dir)).unwrap();
    open_empty(&dir.path().join("empty")).await;
    for writers in [1, 64] {
        puts(&dir.path().join(writers.to_string()), writers).await;
    }
    reads(&dir.path().join("64")).await;
}

fn open(dir: &Path) -> Arc<EmbeddedStore> {
    EmbeddedStore::open(dir, Options::new(Arc::new(SystemTime::now))).unwrap()
}

async fn open_empty(dir: &Path) {
    for state in ["a new store", "an empty store"] {
        let start = Instant::now();
        let store = open(dir);
        println!("open {state}: {:.1?}, {} MiB resident", start.elapsed(), resident_mib());
        store.close().await;
    }
}

fn value(i: u64) -> Bytes {
    i.to_le_bytes().into_iter().cycle().take(VALUE_BYTES).collect()
}

async fn puts(dir: &Path, writers: usize) {
    let store = open(dir);
    let start = Instant::now();
    let tasks = (0..writers).map(|writer| {
        let store = store.clone();
        tokio::spawn(async move {
            let mut times = Vec::new();
            while start.elapsed() < TIME {
                let key = format!("/w/{writer:02}/{:06}", times.len());
                let begin = Instant::now();
                let written = store.put(&key, value(times.len() as u64), 0, None).await.unwrap();
                assert!(matches!(written, PutResult::Done(_)));
                times.push(begin.elapsed());
            }
            times
        })
    });
    let mut times = Vec::new();
    for task in tasks.collect::<Vec<_>>() {
        times.extend(task.await.unwrap());
    }
    report(&format!("put, {writers} writers"), start.elapsed(), times);
    store.close().await;
}

fn report(name: &str, elapsed: Duration, mut times: Vec<Duration>) {
    times.sort();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    let rate = times.len() as f64 / elapsed.as_secs_f64();
    println!("{name}: {rate:.0}/s, p50 {:.1?}, p99 {:.1?}, max {:.1?}", at(0.5), at(0.99), at(1.0));
}

async fn reads(dir: &Path) {
    let store = open(dir);
    let puts = (0..KEYS).map(|i| {
        let store = store.clone();
        async move { store.put(&format!("/r/{i:06}"), value(i as u64), 0, None).await.unwrap() }
    });
    futures::stream::iter(puts).buffer_unordered(512).for_each(|_| async {}).await;
    store.close().await;

    let start = Instant::now();
    let store = open(dir);
    let count = store.count("/").await.unwrap();
    let elapsed = start.elapsed();
    let file_mib = std::fs::metadata(dir.join("store.redb")).unwrap().len() >> 20;
    println!("open {count} keys, {file_mib} MiB: {elapsed:.1?}");

    let start = Instant::now();
    let mut gets = 0;
    while start.elapsed() < TIME / 2 {
        for i in 0..1_000 {
            let key = format!("/r/{:06}", (gets + i * 7_919) % KEYS);
            assert!(store.get(&key).await.unwrap().kv.is_some());
        }
        gets += 1_000;
    }
    println!("get, 1 reader: {:.0}/s", gets as f64 / start.elapsed().as_secs_f64());

    for (what, limit) in [("list all", 0), ("list 500", 500)] {
        let mut times = Vec::new();
        let start = Instant::now();
        while start.elapsed() < TIME / 2 {
            let begin = Instant::now();
            let listing = store.list("/r/", ListOptions { limit, ..Default::default() }).await.unwrap();
            assert_eq!(listing.count, KEYS as u64);
            times.push(begin.elapsed());
        }
        report(&format!("{what} of {KEYS}"), start.elapsed(), times);
    }

    for uncounted in [false, true] {
        let mut times = Vec::new();
        let start = Instant::now();
        while start.elapsed() < TIME / 2 {
            let begin = Instant::now();
            assert_eq!(pages(&*store, uncounted).await, KEYS);
            times.push(begin.elapsed());
        }
        let counted = if uncounted { "uncounted" } else { "counted" };
        report(&format!("all {KEYS} in {counted} pages of {PAGE}"), start.elapsed(), times);
    }

    let start = Instant::now();
    let options = WatchOptions { start: 2, ..Default::default() };
    let mut watch = store.watch("/r/", options).await.unwrap();
    for _ in 0..KEYS {
        assert!(matches!(watch.next().await, Some(Ok(WatchItem::Event(_)))));
    }
    let rate = KEYS as f64 / start.elapsed().as_secs_f64();
    println!("watch, replay of history on disk: {rate:.0} events/s");
    store.close().await;
}

/// Reads everything in pages, like a cache's initial list. Returns the number of keys.
async fn pages(store: &dyn Storage, uncounted: bool) -> usize {
    let mut options = ListOptions { limit: PAGE, uncounted, ..Default::default() };
    let mut keys = 0;
    loop {
        let listing = store.list("/r/", options.clone()).await.unwrap();
        keys += listing.kvs.len();
        if !listing.has_more() {
            return keys;
        }
        options.revision = options.revision.max(listing.revision);
        options.start = listing.kvs.last().map(|kv| format!("{}\0", kv.key));
    }
}

fn resident_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok()).map_or(0, |kb| kb >> 10)
}
