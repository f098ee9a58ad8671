//! JSON document with all measurements; the command's README describes it.

use serde_json::{Value, json};

use super::{Results, ratio};
use crate::args::Settings;
use crate::start::Started;
use crate::target::Target;

/// Schema version; incremented when a field changes its meaning or is removed.
const SCHEMA: u32 = 1;

/// Builds the document.
pub(crate) fn document<'a>(
    results: &Results,
    settings: &Settings,
    targets: impl Iterator<Item = &'a Target>,
    started: &[Started],
    complete: bool,
) -> Value {
    let servers: Vec<_> =
        targets.map(|target| json!({"name": target.name, "url": target.url, "pid": target.pid})).collect();
    let entries: Vec<Value> = results
        .entries
        .iter()
        .map(|entry| {
            let median = entry.summary();
            let baseline = results.baseline(entry, &servers);
            let cpu = baseline.as_ref().and_then(|b| ratio(median.cpu_ms_per_op, b.cpu_ms_per_op));
            let p99 = baseline.as_ref().and_then(|b| ratio(median.p99_ms, b.p99_ms));
            let rss = baseline.as_ref().and_then(|b| ratio(median.rss_peak_kib, b.rss_peak_kib));
            json!({
                "workload": entry.workload,
                "server": entry.server,
                "median": median,
                "ratio_to_first_server": {"cpu_ms_per_op": cpu, "p99_ms": p99, "rss_peak_kib": rss},
                "rounds": entry.rounds,
            })
        })
        .collect();
    json!({
        "tool": "apibench",
        "version": env!("CARGO_PKG_VERSION"),
        "schema": SCHEMA,
        "complete": complete,
        "cpus": std::thread::available_parallelism().map(std::num::NonZero::get).ok(),
        "settings": settings,
        "servers": servers,
        "started": started,
        "results": entries,
    })
}

impl Results {
    /// Returns the first server's summary of the same workload.
    fn baseline(&self, entry: &super::Entry, servers: &[Value]) -> Option<super::Summary> {
        let first = servers.first()?.get("name")?.as_str()?;
        let reference = self.entries.iter().find(|e| e.workload == entry.workload && e.server == first)?;
        Some(reference.summary())
    }
}
