//! Sends hostile input to a server for a long time: `hostile [SECONDS [BYTES [SEED [CASE]]]]`. Half of the time
//! is for request bodies; sequences of operations, responses of backends, stored elements and request heads
//! share the rest. Prints every case that violates the model, and fails if there is one. CASE is a part of a
//! printed name of a body, to repeat that body alone, or several parts joined with `&`:
//! `Errors&by MergePatch`.

use std::process::ExitCode;
use std::time::Duration;

use e2e::hostile::{self, Limits, MEMORY_FACTOR, Report};

fn matches(case: &str, pattern: &str) -> bool {
    pattern.split('&').all(|part| case.contains(part))
}

/// Runs all kinds of input one after the other.
async fn run_all(limits: Limits) -> Vec<(&'static str, Report)> {
    let bodies = Limits { time: limits.time / 2, ..limits };
    let short = Limits { time: limits.time / 8, ..limits };
    vec![
        ("bodies", hostile::run(bodies, |_| true, |finding| println!("{finding}")).await),
        ("sequences", hostile::sequences::run(short).await),
        ("responses", hostile::backends::run(short).await),
        ("stored elements", hostile::stored::run(short).await),
        ("heads", hostile::headers::run(short).await),
    ]
}

#[tokio::main]
async fn main() -> ExitCode {
    let number = |at: usize, default: u64| match std::env::args().nth(at).map(|text| text.parse()) {
        None => Some(default),
        Some(number) => number.ok(),
    };
    let (Some(seconds), Some(bytes), Some(seed)) = (number(1, 3600), number(2, 2_900_000), number(3, 1))
    else {
        eprintln!("usage: hostile [SECONDS [BYTES [SEED [CASE]]]]");
        return ExitCode::FAILURE;
    };
    let limits = Limits {
        bytes: usize::try_from(bytes).unwrap_or(usize::MAX),
        requests: usize::MAX,
        time: Duration::from_secs(seconds),
        patience: Duration::from_secs(60),
        memory_factor: MEMORY_FACTOR,
        cpu: true,
        seed,
    };
    let reports = match std::env::args().nth(4) {
        None => run_all(limits).await,
        Some(pattern) => {
            let filter = |case: &hostile::Case| matches(&case.to_string(), &pattern);
            vec![("bodies", hostile::run(limits, filter, |finding| println!("{finding}")).await)]
        }
    };
    for (name, report) in &reports {
        println!("{name}: {report}");
    }
    let clean = reports.iter().all(|(_, report)| report.findings.is_empty());
    if clean { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
