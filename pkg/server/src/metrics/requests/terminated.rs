//! Requests that the server rejected for its own protection (apiserver `endpoints/metrics`,
//! `RecordRequestTermination`): no seat, no memory, or a timeout. Also requests whose response was cut off
//! (`RecordRequestAbort`).

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use component_base::metrics::{Family, Stability};

use super::{Labels, Requests};

const TOTAL: Family = Family::counter(
    Stability::Alpha,
    "apiserver_request_terminations_total",
    "Requests that the server gave up to save itself.",
);
const ABORTS: Family = Family::counter(
    Stability::Alpha,
    "apiserver_request_aborts_total",
    "Answers that were cut off: their time was over, or there was a panic.",
);
/// Overload and timeout.
const CODES: [(u16, &str); 2] = [(429, "429"), (504, "504")];

/// Counters by code.
pub(super) type Terminated = [AtomicU64; CODES.len()];

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
    pub(super) fn write_terminated(&self, out: &mut String) {
        let mut samples = ABORTS.write(out);
        for (labels, row, series) in self.all() {
            let labels = [
                ("group", row.group),
                ("resource", row.resource),
                ("scope", labels.scope()),
                ("subresource", row.subresource),
                ("verb", labels.verb()),
                ("version", row.version),
            ];
            samples.counted(&labels, &series.aborted);
        }
        let mut samples = TOTAL.write(out);
        for (labels, row, series) in self.all() {
            for ((_, code), count) in CODES.iter().zip(&series.terminated) {
                let labels = [
                    ("code", *code),
                    ("component", "apiserver"),
                    ("group", row.group),
                    ("resource", row.resource),
                    ("scope", labels.scope()),
                    ("subresource", row.subresource),
                    ("verb", labels.verb()),
                    ("version", row.version),
                ];
                samples.counted(&labels, count);
            }
        }
    }
}
