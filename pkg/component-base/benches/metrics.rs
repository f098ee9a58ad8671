//! Cost of an observation, compared to plain atomics in a struct.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use component_base::metrics::{Counter, Family, Histogram, MetricsRegistry, Stability, buckets};

const EVENTS: Family<Counter, 1> = Family::counter(Stability::Alpha, "events_total", "Events.", ["kind"]);
const TOOK: Family<Histogram, 0> =
    Family::histogram(Stability::Alpha, "took_seconds", "Time.", [], &buckets::DEFAULT_SECONDS);

const BOUNDS: [(&str, u64); 11] = [
    ("0.005", 5_000_000),
    ("0.01", 10_000_000),
    ("0.025", 25_000_000),
    ("0.05", 50_000_000),
    ("0.1", 100_000_000),
    ("0.25", 250_000_000),
    ("0.5", 500_000_000),
    ("1", 1_000_000_000),
    ("2.5", 2_500_000_000),
    ("5", 5_000_000_000),
    ("10", 10_000_000_000),
];

fn main() {
    divan::main();
}

#[divan::bench]
fn counter(bencher: divan::Bencher) {
    let events = MetricsRegistry::default().register_vec(&EVENTS).with(["a"]);
    bencher.bench_local(|| black_box(&events).increment());
}

#[divan::bench]
fn counter_of_a_struct(bencher: divan::Bencher) {
    let events = AtomicU64::new(0);
    bencher.bench_local(|| black_box(&events).fetch_add(1, Relaxed));
}

#[divan::bench]
fn counter_by_labels(bencher: divan::Bencher) {
    let events = MetricsRegistry::default().register_vec(&EVENTS);
    ["a", "b", "c", "d"].iter().for_each(|kind| events.with([kind]).increment());
    bencher.bench_local(|| black_box(&events).with([black_box("c")]).increment());
}

#[divan::bench]
fn histogram(bencher: divan::Bencher) {
    let duration = MetricsRegistry::default().register(&TOOK);
    bencher.bench_local(|| black_box(&duration).observe(black_box(30_000_000)));
}

#[divan::bench]
fn histogram_of_a_struct(bencher: divan::Bencher) {
    struct Inline {
        counts: [AtomicU64; 11],
        beyond: AtomicU64,
        sum: AtomicU64,
    }
    let duration = Inline {
        counts: std::array::from_fn(|_| AtomicU64::new(0)),
        beyond: AtomicU64::new(0),
        sum: AtomicU64::new(0),
    };
    bencher.bench_local(|| {
        let duration = black_box(&duration);
        let value = black_box(30_000_000);
        let bucket = BOUNDS.partition_point(|&(_, bound)| bound < value);
        duration.counts.get(bucket).unwrap_or(&duration.beyond).fetch_add(1, Relaxed);
        duration.sum.fetch_add(value, Relaxed);
    });
}
