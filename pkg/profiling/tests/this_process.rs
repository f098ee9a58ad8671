//! Profiles of the process that runs the test. In one test each, for a process has one timer and one allocator.
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
        // Allocations, too: that is where a signal must not find the unwinder unprepared.
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
async fn who_is_busy_is_in_the_profile_and_nobody_takes_a_second_one_meanwhile() {
    let done = Arc::new(AtomicBool::new(false));
    let until = Arc::clone(&done);
    let bee = std::thread::spawn(move || busy_as_a_bee(&until));
    // The first one is begun before the second one is.
    let (first, second) = tokio::join!(
        profiling::processor(Duration::from_secs(2)),
        profiling::processor(Duration::from_secs(1))
    );
    let first = first.unwrap();
    done.store(true, Relaxed);
    bee.join().unwrap();
    assert!(says(&first, "busy_as_a_bee"));
    assert_eq!(second, Err(Error::Busy));
    // The first one gave the timer back.
    profiling::processor(Duration::from_millis(10)).await.unwrap();
}

#[tokio::test]
async fn who_keeps_memory_is_in_the_profile() {
    profiling::watch_heap().unwrap();
    let kept = hoard();
    let heap = profiling::heap().await.unwrap();
    assert!(says(&heap.encoded().unwrap(), "hoard"));
    assert!(heap.text().unwrap().contains("hoard"));
    drop(kept);
}
