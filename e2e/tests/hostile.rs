//! Bodies that are made to hurt cost no more than the model allows: those that once hurt, and a sample of all.
//! `make hostile` tries as many as an hour has room for.

use std::time::Duration;

use e2e::hostile::{Finding, Limits, run};

/// What is held today. It may only shrink, to the model's (`hostile::MEMORY_FACTOR`): a short body of empty parts may have
/// a tree of 16 MiB, and has it twice for a while.
const MEMORY_FACTOR_HELD: u64 = 60;

/// A sample of two minutes with a debug build. Time is not judged here: other tests take theirs meanwhile.
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
async fn hostile_bodies_cost_no_more_than_the_model_allows() {
    let report = run(SAMPLE, |_| true, |_| {}).await;
    let findings: Vec<String> = report.findings.iter().map(Finding::to_string).collect();
    assert!(findings.is_empty(), "of {} bodies:\n{}", report.requests, findings.join("\n"));
    assert!(report.requests > 0, "no body was sent");
}
