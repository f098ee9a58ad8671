//! Hostile input costs no more than the model allows: known problematic cases, and a sample of all. `make
//! hostile` runs for an hour.

use std::time::Duration;

use e2e::hostile::{self, Limits, Report};

/// Current bound; it may only decrease, towards the model's (`hostile::MEMORY_FACTOR`). A short body of empty
/// parts can expand to a tree of 16 MiB, and exists twice for a while.
const MEMORY_FACTOR_HELD: u64 = 60;

/// A sample of two minutes with a debug build. CPU time is not checked, because other tests run concurrently.
const SAMPLE: Limits = Limits {
    bytes: 256_000,
    requests: 400,
    time: Duration::from_secs(150),
    patience: Duration::from_secs(120),
    memory_factor: MEMORY_FACTOR_HELD,
    cpu: false,
    seed: 1,
};

/// A shorter sample of the other kinds of input.
const SHORT: Limits = Limits { requests: 44, time: Duration::from_secs(60), ..SAMPLE };

fn assert_clean(report: &Report) {
    assert!(report.findings.is_empty(), "{report}");
    assert!(report.requests > 0, "no case was tried");
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_bodies_stay_within_the_model() {
    assert_clean(&hostile::run(SAMPLE, |_| true, |_| {}).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn operation_sequences_stay_within_the_model() {
    assert_clean(&hostile::sequences::run(SHORT).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_backends_stay_within_the_model() {
    assert_clean(&hostile::backends::run(SHORT).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn stored_elements_block_no_resource() {
    assert_clean(&hostile::stored::run(SHORT).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn watches_retain_no_large_heads() {
    assert_clean(&hostile::headers::run(Limits { requests: 4, ..SHORT }).await);
}
