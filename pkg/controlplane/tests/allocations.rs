//! Regression gate of memory allocations: requests of every kind to a complete server, with objects of realistic size.
//!
//! The allocations and allocated bytes of each request are compared with `allocations/table.txt`. They cover the whole
//! server: its connection, the handler chain, the store in memory, the watch cache, and the CPU pool. Unlike time, they
//! do not depend on the machine and its load. They depend on the build profile; the table is of `cargo test`.
//!
//! `make allocations` writes the table and `allocations/stages.txt`.
#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "allocations/client.rs"]
mod client;
#[path = "allocations/counter.rs"]
mod counter;
#[path = "allocations/measure.rs"]
mod measure;
#[path = "allocations/operations.rs"]
mod operations;
/// The objects of the benchmarks.
#[path = "../../../cmd/apibench/src/realistic.rs"]
mod realistic;
#[path = "allocations/stages.rs"]
mod stages;
#[path = "allocations/table.rs"]
mod table;

use std::collections::BTreeMap;

use measure::Server;
use table::Table;

/// Environment variable that requests new tables instead of a comparison.
const UPDATE: &str = "UPDATE_ALLOCATIONS";

#[test]
fn allocations_equal_the_table() {
    if !cfg!(debug_assertions) {
        println!("skipped: the table is of the dev profile");
        return;
    }
    counter::start();
    // One thread: everything that happens between a request and its response belongs to the request.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (totals, stages) = runtime.block_on(measure_all());
    if std::env::var_os(UPDATE).is_some() {
        table::TOTALS.write(&totals);
        table::STAGES.write(&stages);
        return;
    }
    let differences = table::TOTALS.read().differences(&totals);
    let grown = table::STAGES.read().growth(&stages);
    assert!(differences.is_empty(), "{}", report(&differences, &grown));
}

/// Measures all operations, and the stages of each.
async fn measure_all() -> (Table, Table) {
    let server = Server::start().await;
    let mut totals = BTreeMap::new();
    let mut stages = BTreeMap::new();
    for operation in operations::all(&server.prepare().await) {
        totals.insert(operation.name.to_owned(), server.measure(&operation).await);
        for (stage, allocations) in server.measure_stages(&operation).await {
            stages.insert(format!("{} | {stage}", operation.name), allocations);
        }
    }
    totals.insert(operations::WATCH.to_owned(), server.measure_watch().await);
    (Table(totals), Table(stages))
}

/// Describes each difference, with the stages of its operation that have grown.
fn report(differences: &[table::Difference], grown: &[table::Difference]) -> String {
    let mut lines = vec!["allocations differ from pkg/controlplane/tests/allocations/table.txt:".to_owned()];
    for difference in differences {
        lines.push(format!("  {difference}"));
        let prefix = format!("{} | ", difference.name);
        let stages = grown.iter().filter(|stage| stage.name.starts_with(&prefix));
        lines.extend(stages.map(|stage| format!("    stage {}", stage.to_string().replace(&prefix, ""))));
    }
    lines.push(
        "Find the reason of an increase. After a decrease, keep the gain with `make allocations`.".to_owned(),
    );
    lines.join("\n")
}
