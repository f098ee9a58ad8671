//! Cost of the calls that a cache uses, in this process and in etcd: `cargo bench -p mainstay-storage-etcd3 --
//! http://127.0.0.1:2379 [PID]`. The etcd may contain data; its process id is needed to measure its CPU time.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::{StreamExt, stream};
use storage::{ListOptions, Storage, WatchItem, WatchOptions};
use storage_etcd3::{Etcd, Options};

const KEYS: usize = 20_000;
const VALUE_BYTES: usize = 3_000;
const TIME: Duration = Duration::from_secs(3);

#[tokio::main]
async fn main() {
    let mut args = std::env::args().skip(1).filter(|arg| !arg.starts_with('-'));
    let Some(endpoint) = args.next() else { return println!("no etcd endpoint is given") };
    let pid = args.next();
    let store = Arc::new(Etcd::new(Options::new([endpoint])).await.unwrap());
    let start = store.current_revision().await.unwrap() + 1;
    let prefix = &format!("/bench/{start}/");
    let fill = (0..KEYS).map(|n| {
        let key = format!("{prefix}{n:06}");
        let value = Bytes::from(vec![7; VALUE_BYTES]);
        let store = store.clone();
        async move { store.put(&key, value, 0, None).await.unwrap() }
    });
    stream::iter(fill).buffer_unordered(256).for_each(|_| async {}).await;

    for at_once in [1, 32] {
        let name = format!("current_revision, {at_once} at once");
        repeat(&name, at_once, pid.as_deref(), || async { store.current_revision().await.unwrap() }).await;
    }
    let all = || async { store.list(prefix, ListOptions::default()).await.unwrap().kvs.len() };
    repeat(&format!("list of {KEYS}"), 1, pid.as_deref(), all).await;
    let page = ListOptions { limit: 1_000, uncounted: true, ..ListOptions::default() };
    let page = || async { store.list(prefix, page.clone()).await.unwrap().kvs.len() };
    repeat("list of the first 1000", 1, pid.as_deref(), page).await;
    let replay = || async {
        let options = WatchOptions { start, progress: true, ..WatchOptions::default() };
        let mut watch = store.watch(prefix, options).await.unwrap();
        let mut events = 0;
        while events < KEYS {
            events += usize::from(matches!(watch.next().await.unwrap().unwrap(), WatchItem::Event(_)));
        }
        events
    };
    repeat(&format!("watch, replay of {KEYS}"), 1, pid.as_deref(), replay).await;
}

/// Repeats calls for a while, and prints the rate and the CPU time per call.
async fn repeat<T, C: Future<Output = T>>(
    name: &str,
    at_once: usize,
    pid: Option<&str>,
    call: impl Fn() -> C,
) {
    let begin = Instant::now();
    let client_cpu = cpu("self");
    let etcd_cpu = pid.map(cpu);
    let mut calls = stream::repeat_with(&call).buffer_unordered(at_once);
    let mut count = 0;
    while begin.elapsed() < TIME {
        drop(calls.next().await);
        count += 1;
    }
    let each = |total: Duration| total / count;
    let client_cpu = each(cpu("self") - client_cpu);
    let etcd_cpu = etcd_cpu.map(|before| each(cpu(pid.unwrap()) - before));
    let rate = f64::from(count) / begin.elapsed().as_secs_f64();
    println!("{name}: {rate:.1}/s, CPU per call {client_cpu:.1?}, of etcd {etcd_cpu:.1?}");
}

/// CPU time of a process, with a resolution of 10 ms.
fn cpu(pid: &str) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    let ticks: u64 = fields[11..=12].iter().map(|field| field.parse::<u64>().unwrap()).sum();
    Duration::from_millis(ticks * 10)
}
