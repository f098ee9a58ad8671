//! Handles of counters and gauges. Clones share the value; an update is one relaxed atomic operation.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};

use super::{Metric, Samples};

/// Counter, which only grows until the process restarts.
#[derive(Debug, Clone, Default)]
pub struct Counter(Arc<AtomicU64>);

impl Counter {
    /// Adds 1.
    pub fn increment(&self) {
        self.0.fetch_add(1, Relaxed);
    }

    /// Adds `count`.
    pub fn add(&self, count: u64) {
        self.0.fetch_add(count, Relaxed);
    }

    /// Returns the current count.
    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

impl Metric for Counter {
    type Options = ();

    fn new((): ()) -> Self {
        Counter::default()
    }

    fn is_unused(&self) -> bool {
        self.get() == 0
    }

    fn reset(&self) {
        self.0.store(0, Relaxed);
    }

    fn write<const N: usize>(&self, labels: [&str; N], samples: &mut Samples<'_, Self, N>) {
        samples.add(labels, self.get());
    }
}

/// Gauge, which can grow and shrink.
#[derive(Debug, Clone, Default)]
pub struct Gauge(Arc<AtomicI64>);

impl Gauge {
    /// Replaces the value.
    pub fn set(&self, value: i64) {
        self.0.store(value, Relaxed);
    }

    /// Replaces the value by a count. Counts above `i64::MAX` become `i64::MAX`.
    pub fn set_count(&self, count: usize) {
        self.set(i64::try_from(count).unwrap_or(i64::MAX));
    }

    /// Adds `value`, which may be negative.
    pub fn add(&self, value: i64) {
        self.0.fetch_add(value, Relaxed);
    }

    /// Returns the current value.
    pub fn get(&self) -> i64 {
        self.0.load(Relaxed)
    }
}

impl Metric for Gauge {
    type Options = ();

    fn new((): ()) -> Self {
        Gauge::default()
    }

    /// Always false: 0 is a value of a gauge.
    fn is_unused(&self) -> bool {
        false
    }

    fn reset(&self) {}

    fn write<const N: usize>(&self, labels: [&str; N], samples: &mut Samples<'_, Self, N>) {
        samples.add(labels, self.get());
    }
}
