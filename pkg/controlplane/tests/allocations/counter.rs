//! Counter of the allocations of the process, without those of the test's client.

use std::alloc::System;
use std::future::Future;
use std::ops::{AddAssign, Sub};
use std::pin::Pin;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll};

use tracking_allocator::{AllocationGroupId, AllocationRegistry, AllocationTracker, Allocator};

#[global_allocator]
static ALLOCATOR: Allocator<System> = Allocator::system();

static COUNT: AtomicUsize = AtomicUsize::new(0);
static BYTES: AtomicUsize = AtomicUsize::new(0);

/// Counts the allocations of all threads.
struct Counter;

impl AllocationTracker for Counter {
    fn allocated(&self, _: usize, bytes: usize, _: usize, _: AllocationGroupId) {
        COUNT.fetch_add(1, Relaxed);
        BYTES.fetch_add(bytes, Relaxed);
    }

    fn deallocated(&self, _: usize, _: usize, _: usize, _: AllocationGroupId, _: AllocationGroupId) {}
}

/// Starts counting.
pub(crate) fn start() {
    AllocationRegistry::set_global_tracker(Counter).unwrap();
    AllocationRegistry::enable_tracking();
}

/// Number of allocations and their bytes. A growing buffer counts as a new one each time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Allocations {
    pub(crate) count: usize,
    pub(crate) bytes: usize,
}

impl Allocations {
    /// Returns the allocations since the start, without those of [`Uncounted`] futures.
    pub(crate) fn now() -> Self {
        Allocations { count: COUNT.load(Relaxed), bytes: BYTES.load(Relaxed) }
    }
}

impl Sub for Allocations {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Allocations { count: self.count - other.count, bytes: self.bytes - other.bytes }
    }
}

impl AddAssign for Allocations {
    fn add_assign(&mut self, other: Self) {
        self.count += other.count;
        self.bytes += other.bytes;
    }
}

/// A future of the client. Allocations of its thread during its polls do not count.
pub(crate) struct Uncounted<F>(Pin<Box<F>>);

impl<F: Future> Uncounted<F> {
    pub(crate) fn new(future: F) -> Self {
        Uncounted(AllocationRegistry::untracked(|| Box::pin(future)))
    }
}

impl<F: Future> Future for Uncounted<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        AllocationRegistry::untracked(|| self.0.as_mut().poll(cx))
    }
}
