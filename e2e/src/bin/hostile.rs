//! Sends hostile bodies to a server for a long time: `hostile [SECONDS [BYTES [SEED [CASE]]]]`. Prints every
//! case that exceeds the model, and fails if there is one. CASE is a part of a printed case name, to repeat
//! that case alone, or several parts joined with `&`: `Errors&by MergePatch`.

use std::process::ExitCode;
use std::time::Duration;

use e2e::hostile::{Limits, MEMORY_FACTOR, run};

fn is_wanted(case: &str, parts: &str) -> bool {
    parts.split('&').all(|part| case.contains(part))
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
    let wanted = std::env::args().nth(4).unwrap_or_default();
    let report =
        run(limits, |case| is_wanted(&case.to_string(), &wanted), |finding| println!("{finding}")).await;
    println!("{} requests, {} findings", report.requests, report.findings.len());
    let ((memory, by), (cpu, of)) = (&report.memory_worst, &report.cpu_worst);
    println!("most memory: {} MiB: {by}\nmost time: {cpu} ms: {of}", memory >> 20);
    if report.findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
