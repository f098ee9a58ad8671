//! Requests that the server rejected for its own protection (apiserver `endpoints/metrics`,
//! `RecordRequestTermination`): no seat, no memory, or a timeout. Also requests whose response was cut off
//! (`RecordRequestAbort`).

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use component_base::metrics::{Counter, Family, Page, Stability};

use super::{Labels, Requests};

pub(super) const TERMINATIONS: Family<Counter, 8> = Family::counter(
    Stability::Alpha,
    "apiserver_request_terminations_total",
    "Number of requests which apiserver terminated in self-defense.",
    ["code", "component", "group", "resource", "scope", "subresource", "verb", "version"],
);
pub(super) const ABORTS: Family<Counter, 6> = Family::counter(
    Stability::Alpha,
    "apiserver_request_aborts_total",
    "Number of requests which apiserver aborted possibly due to a timeout, for each group, version, verb, resource, subresource and scope",
    ["group", "resource", "scope", "subresource", "verb", "version"],
);
/// Overload and timeout.
const CODES: [(u16, &str); 2] = [(429, "429"), (504, "504")];

/// Counters by code.
pub(super) type TerminationCounts = [AtomicU64; CODES.len()];

impl Requests {
    /// Counts a request that was rejected with a code.
    pub(crate) fn terminated(&self, labels: Labels, code: u16) {
        let place = CODES.iter().position(|&(one, _)| one == code);
        let count = place.zip(self.series(labels)).and_then(|(at, series)| series.terminated.get(at));
        count.inspect(|count| _ = count.fetch_add(1, Relaxed));
    }

    /// Counts a request whose response was cut off.
    pub(crate) fn aborted(&self, labels: Labels) {
        self.series(labels).inspect(|series| _ = series.aborted.fetch_add(1, Relaxed));
    }

    /// Writes the metric families.
    pub(super) fn write_terminated(&self, page: &mut Page<'_>) {
        let mut samples = page.family(&ABORTS);
        for (labels, row, series) in self.all() {
            let count = series.aborted.load(Relaxed);
            samples.add_nonzero(labels.by_scope(row), count);
        }
        drop(samples);
        let mut samples = page.family(&TERMINATIONS);
        for (labels, row, series) in self.all() {
            let [group, resource, scope, subresource, verb, version] = labels.by_scope(row);
            for ((_, code), count) in CODES.iter().zip(&series.terminated) {
                let labels = [code, "apiserver", group, resource, scope, subresource, verb, version];
                samples.add_nonzero(labels, count.load(Relaxed));
            }
        }
    }
}
