//! Sections of `/debug/console` about the API, the store and the process. They show existing metrics.

use std::sync::Arc;

use cacher::{Budget, Delegator, ResourceStats};
use client::webhook::ClientMetrics;
use component_base::metrics::Distribution;
use component_base::weakened::{WeakenedDecision, WeakenedDecisions};
use endpoints::api::CompressedLists;
use jsontree::{Value, json};
use server::limits::memory::{MemoryBudget, Meter};
use server::{ROWS_MAX, Section, histograms};
use tokio::time::Instant;

use crate::memory::ResidentMeter;

/// Maximum length of a cause in the console, in characters. The log contains the whole cause.
const CAUSE_CHARS_MAX: usize = 400;

/// API data for the console.
#[derive(Clone)]
pub struct ConsoleSources {
    delegator: Delegator,
    webhooks: Arc<ClientMetrics>,
    lists: CompressedLists,
}

impl ConsoleSources {
    pub(crate) fn new(delegator: Delegator, webhooks: &Arc<ClientMetrics>, lists: &CompressedLists) -> Self {
        ConsoleSources { delegator, webhooks: Arc::clone(webhooks), lists: lists.clone() }
    }
}

/// Store data for the console: calls in progress, their metrics, and the label of the store.
pub(crate) struct StoreConsoleSource {
    pub(crate) name: &'static str,
    /// Durations of finished calls by operation.
    pub(crate) durations: Arc<dyn Fn() -> Vec<(String, Distribution)> + Send + Sync>,
    pub(crate) waiting: Arc<dyn Fn() -> Vec<(&'static str, usize, Instant)> + Send + Sync>,
}

/// Builds the sections about caches, webhooks, store, memory and weakened decisions.
pub(crate) fn sections(
    sources: &ConsoleSources,
    store: StoreConsoleSource,
    ledger: &MemoryBudget,
    decisions: &WeakenedDecisions,
) -> Vec<Section> {
    let delegator = sources.delegator.clone();
    let metrics = Arc::clone(&sources.webhooks);
    let held = sources.clone();
    let decisions = decisions.clone();
    let ledger = ledger.clone();
    vec![
        Section { name: "caches", state: Arc::new(move || caches(delegator.resource_stats())) },
        Section { name: "webhooks", state: Arc::new(move || webhooks(&metrics)) },
        Section { name: "store", state: Arc::new(move || calls(&store)) },
        Section { name: "memory", state: Arc::new(move || memory(&held, &ledger)) },
        Section { name: "weakened", state: Arc::new(move || weakened(decisions.recent())) },
    ]
}

/// Shows the caches, largest resources first.
fn caches(mut census: Vec<ResourceStats>) -> Value {
    let total = census.len();
    let objects = census.iter().filter_map(|row| row.objects).sum::<u64>();
    let is_filling = |row: &ResourceStats| !row.ready && !row.dormant;
    let filling = census.iter().filter(|row| is_filling(row)).count();
    census.sort_by_key(|row| (!is_filling(row), std::cmp::Reverse((row.bytes, row.objects, row.hits))));
    census.truncate(ROWS_MAX);
    let rows: Vec<Value> = census.iter().map(cache).collect();
    json!({ "total": total, "filling": filling, "objects": objects, "rows": rows })
}

fn cache(row: &ResourceStats) -> Value {
    let mut value = json!({
        "group": row.group,
        "resource": row.resource,
        "cached": row.cache.is_some(),
        "ready": row.ready,
        "resting": row.dormant,
        "objects": row.objects,
        "bytes": row.bytes,
        "hits": row.hits,
        "misses": row.misses,
    });
    if let Some(stats) = &row.cache {
        value["revision"] = stats.revision.into();
        value["watches"] = stats.watches.into();
        value["events"] = stats.events.into();
        value["overruns"] = stats.terminated.into();
        value["logBytes"] = stats.log_bytes.into();
        value["logFirst"] = stats.log_end.saturating_sub(stats.log_length as u64).into();
        value["logEnd"] = stats.log_end.into();
    }
    value
}

/// Shows webhook calls by host, finished and in progress.
fn webhooks(metrics: &ClientMetrics) -> Value {
    let mut in_flight = metrics.in_flight(Instant::now());
    in_flight.sort_by_key(|row| std::cmp::Reverse(row.age));
    in_flight.truncate(ROWS_MAX);
    let row = |row: &client::webhook::InFlightCalls| {
        let calls = row.calls;
        let oldest = row.age.as_secs_f64();
        json!({ "host": row.host, "calls": calls, "path": row.path, "oldestSeconds": oldest })
    };
    let in_flight: Vec<Value> = in_flight.iter().map(row).collect();
    let hosts = histograms(metrics.durations(), ROWS_MAX);
    json!({ "underWay": in_flight, "hosts": hosts })
}

/// Shows store calls by operation.
fn calls(store: &StoreConsoleSource) -> Value {
    let now = Instant::now();
    let waiting = (store.waiting)().into_iter().map(|(operation, calls, since)| {
        let oldest = now.saturating_duration_since(since).as_secs_f64();
        json!({ "operation": operation, "calls": calls, "oldestSeconds": oldest })
    });
    let waiting: Vec<Value> = waiting.collect();
    let operations = histograms((store.durations)(), ROWS_MAX);
    json!({ "kind": store.name, "underWay": waiting, "operations": operations })
}

/// Shows memory usage by component, and that of the process.
fn memory(sources: &ConsoleSources, ledger: &MemoryBudget) -> Value {
    let census = sources.delegator.resource_stats();
    let logs: usize = census.iter().filter_map(|row| Some(row.cache?.log_bytes)).sum();
    let budget =
        |name, budget: &Budget| json!({ "name": name, "bytes": budget.used(), "most": budget.limit() });
    let (lists, lists_max) = sources.lists.bytes();
    let owners = json!([
        { "name": "objects in caches", "bytes": census.iter().map(|row| row.bytes).sum::<usize>() },
        { "name": "superseded objects in logs", "bytes": logs },
        budget("encoded objects", sources.delegator.budget()),
        budget("encoded events", sources.delegator.frames()),
        { "name": "compressed lists", "bytes": lists, "most": lists_max },
    ]);
    let limit = ledger.usage().map(|[limit, _, reserved, refused]| {
        json!({ "bytes": limit, "reservedByRequests": reserved, "refusedRequests": refused })
    });
    json!({
        "residentBytes": ResidentMeter.bytes(),
        "limit": limit,
        "owners": owners,
    })
}

/// Shows the weakened decisions of the last ten minutes, the latest first.
fn weakened(mut recent: Vec<WeakenedDecision>) -> Value {
    let total = recent.len();
    recent.truncate(ROWS_MAX);
    let row = |decision: &WeakenedDecision| {
        let WeakenedDecision { kind, name, cause, last, count } = decision;
        let cause: String = cause.chars().take(CAUSE_CHARS_MAX).collect();
        json!({
            "kind": kind.name(),
            "message": kind.message(),
            "name": name,
            "cause": cause,
            "at": last.seconds,
            "count": *count,
        })
    };
    json!({ "total": total, "rows": recent.iter().map(row).collect::<Vec<_>>() })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use component_base::weakened::WeakenedKind;

    use super::*;

    #[test]
    fn weakened_decisions_show_name_and_cause() {
        let decisions = WeakenedDecisions::default();
        decisions.record(WeakenedKind::WebhookFailOpen, "a.b", &"connection refused");
        let expected = json!({"total": 1, "rows": [{
            "kind": "webhook_fail_open", "message": "failed calling webhook, failing open",
            "name": "a.b", "cause": "connection refused", "at": 0, "count": 1,
        }]});
        assert_eq!(weakened(decisions.recent()), expected);
    }

    #[test]
    fn weakened_decisions_are_bounded() {
        let decisions = WeakenedDecisions::default();
        for kind in WeakenedKind::ALL {
            (0..100).for_each(|n| decisions.record(kind, &n.to_string(), &"x".repeat(10_000)));
        }
        let document = weakened(decisions.recent());
        assert_eq!(document["rows"].as_array().unwrap().len(), ROWS_MAX);
        assert!(document["total"].as_u64() > Some(50) && document.to_string().len() < 64 << 10);
    }
}
