//! Profiles of the test process. One test per kind, because a process has one timer and one allocator.
#![allow(clippy::unwrap_used)]

use std::hint::black_box;
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use profiling::Error;

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

#[inline(never)]
fn busy_as_a_bee(until: &AtomicBool) {
    let mut sum = 0_u64;
    while !until.load(Relaxed) {
        // Allocates, too: a signal within the allocator must find the unwinder initialized.
        sum = sum.wrapping_add(black_box(vec![1_u8; 100]).len() as u64);
    }
    black_box(sum);
}

#[inline(never)]
fn hoard() -> Vec<Vec<u8>> {
    (0..64).map(|_| vec![1_u8; 1 << 20]).collect()
}

fn says(profile: &[u8], name: &str) -> bool {
    let mut message = Vec::new();
    flate2::read::GzDecoder::new(profile).read_to_end(&mut message).unwrap();
    message.windows(name.len()).any(|window| window == name.as_bytes())
}

#[tokio::test(flavor = "multi_thread")]
async fn busy_function_is_profiled_and_profiles_are_exclusive() {
    let done = Arc::new(AtomicBool::new(false));
    let until = Arc::clone(&done);
    let bee = std::thread::spawn(move || busy_as_a_bee(&until));
    // The first profile starts before the second.
    let (first, second) = tokio::join!(
        profiling::processor(Duration::from_secs(2)),
        profiling::processor(Duration::from_secs(1))
    );
    let first = first.unwrap();
    let graph = profiling::flame_graph(Duration::from_secs(1)).await.unwrap();
    done.store(true, Relaxed);
    bee.join().unwrap();
    assert!(says(&first, "busy_as_a_bee"));
    assert!(graph.contains("busy_as_a_bee"), "{graph}");
    assert_eq!(second, Err(Error::Busy));
    // The first profile has released the timer.
    profiling::processor(Duration::from_millis(10)).await.unwrap();
}

#[tokio::test]
async fn live_memory_is_in_the_heap_profile() {
    profiling::watch_heap().unwrap();
    let allocation = hoard();
    let heap = profiling::heap().await.unwrap();
    assert!(says(&heap.encoded().unwrap(), "hoard"));
    assert!(heap.text().unwrap().contains("hoard"));
    drop(allocation);
}
