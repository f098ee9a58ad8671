//! Hostile bodies cost no more than the model allows: known problematic ones, and a sample of all. `make
//! hostile` runs for an hour.

use std::time::Duration;

use e2e::hostile::{Finding, Limits, run};

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

#[tokio::test(flavor = "multi_thread")]
async fn hostile_bodies_stay_within_the_model() {
    let report = run(SAMPLE, |_| true, |_| {}).await;
    let findings: Vec<String> = report.findings.iter().map(Finding::to_string).collect();
    assert!(findings.is_empty(), "of {} bodies:\n{}", report.requests, findings.join("\n"));
    assert!(report.requests > 0, "no body was sent");
}
