//! Report: measurements aggregated over rounds and compared with the first server.

mod document;
mod plot;
mod table;

use std::collections::BTreeMap;

use serde::Serialize;

pub(crate) use document::document;
pub(crate) use plot::plot;
pub(crate) use table::{startup_table, table};

use crate::stats::{Measured, Window, median};

/// All measurements of a run, in order.
#[derive(Debug, Default)]
pub(crate) struct Results {
    entries: Vec<Entry>,
}

/// All rounds of one workload on one server.
#[derive(Debug)]
pub(crate) struct Entry {
    workload: &'static str,
    server: String,
    rounds: Vec<Measured>,
}

/// Medians over the rounds, per metric. Failed measurements have no value.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Summary {
    /// Returns operations per second.
    pub(crate) rate: Option<f64>,
    /// Latency in milliseconds.
    pub(crate) p50_ms: Option<f64>,
    /// Latency in milliseconds.
    pub(crate) p99_ms: Option<f64>,
    /// Latency in milliseconds.
    pub(crate) max_ms: Option<f64>,
    /// Server CPU per operation in milliseconds.
    pub(crate) cpu_ms_per_op: Option<f64>,
    /// Smallest and largest server CPU per operation of a round in milliseconds.
    pub(crate) cpu_ms_per_op_min: Option<f64>,
    pub(crate) cpu_ms_per_op_max: Option<f64>,
    /// Peak resident memory in KiB.
    pub(crate) rss_peak_kib: Option<f64>,
    /// Peak minus initial resident memory in KiB.
    pub(crate) rss_growth_kib: Option<f64>,
    /// Response body bytes per operation. CPU values are comparable only where these are equal.
    pub(crate) bytes_per_op: Option<f64>,
    /// Errors of all rounds.
    pub(crate) errors: u64,
    /// Text of the first error, or the reason for skipping the workload.
    pub(crate) note: Option<String>,
    /// Metrics over time.
    pub(crate) windows: Vec<Window>,
    /// Metrics specific to the workload.
    pub(crate) extra: BTreeMap<&'static str, f64>,
}

impl Results {
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Adds one measurement.
    pub(crate) fn add(&mut self, workload: &'static str, server: &str, measured: Measured) {
        match self.entries.iter_mut().find(|entry| entry.workload == workload && entry.server == server) {
            Some(entry) => entry.rounds.push(measured),
            None => {
                let server = server.to_owned();
                let rounds = vec![measured];
                self.entries.push(Entry { workload, server, rounds });
            }
        }
    }

    /// The workloads, each with its servers in the order of `servers`; the first is the baseline.
    fn by_workload<'a>(
        &'a self,
        servers: &'a [String],
    ) -> impl Iterator<Item = (&'static str, Vec<(&'a str, Summary)>)> {
        let mut names: Vec<&'static str> = Vec::new();
        for entry in &self.entries {
            if !names.contains(&entry.workload) {
                names.push(entry.workload);
            }
        }
        names.into_iter().map(move |name| {
            let find = |server: &'a String| {
                let entry = self.entries.iter().find(|e| e.workload == name && e.server == *server)?;
                Some((server.as_str(), entry.summary()))
            };
            (name, servers.iter().filter_map(find).collect())
        })
    }
}

impl Entry {
    fn summary(&self) -> Summary {
        let of = |value: &dyn Fn(&Measured) -> Option<f64>| median(self.rounds.iter().filter_map(value));
        let done = |value: &dyn Fn(&Measured) -> Option<f64>| {
            of(&|m| if m.operations > 0 { value(m) } else { None })
        };
        let cpu = || self.rounds.iter().filter_map(Measured::cpu_ms_per_op);
        let keys = self.rounds.iter().flat_map(|m| m.extra.keys().copied());
        let extra = keys.filter_map(|key| Some((key, of(&|m| m.extra.get(key).copied())?)));
        let window_count = self.rounds.iter().map(|m| m.windows.len()).max().unwrap_or(0);
        let median_window =
            |at: usize| Window::median(self.rounds.iter().filter_map(move |m| m.windows.get(at)));
        let skip_reason =
            |m: &Measured| m.skipped.as_ref().map(|skip_reason| format!("skipped: {skip_reason}"));
        Summary {
            rate: done(&Measured::rate),
            p50_ms: of(&|m| Some(m.latency_ms?.p50)),
            p99_ms: of(&|m| Some(m.latency_ms?.p99)),
            max_ms: of(&|m| Some(m.latency_ms?.max)),
            cpu_ms_per_op: of(&Measured::cpu_ms_per_op),
            cpu_ms_per_op_min: cpu().reduce(f64::min),
            cpu_ms_per_op_max: cpu().reduce(f64::max),
            rss_peak_kib: done(&|m| Some(m.rss_peak_kib? as f64)),
            rss_growth_kib: done(&Measured::growth_kib),
            bytes_per_op: of(&Measured::bytes_per_op),
            errors: self.rounds.iter().map(|m| m.errors).sum(),
            note: self.rounds.iter().find_map(|m| m.first_error.clone().or_else(|| skip_reason(m))),
            windows: (0..window_count).map(median_window).collect(),
            extra: extra.collect(),
        }
    }
}

/// Returns `value / baseline`. `None` if one is missing or zero.
fn ratio(value: Option<f64>, baseline: Option<f64>) -> Option<f64> {
    let value = value?;
    let baseline = baseline?;
    (value > 0.0 && baseline > 0.0).then(|| value / baseline)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a measurement with this CPU time for 100 operations.
    pub(super) fn measured(cpu_ms: f64) -> Measured {
        Measured { operations: 100, seconds: 2.0, cpu_ms: Some(cpu_ms), ..Measured::default() }
    }

    #[test]
    fn ratio_is_relative_to_the_first_server() {
        assert_eq!(ratio(Some(6.0), Some(2.0)), Some(3.0));
        assert_eq!(ratio(Some(0.0), Some(2.0)), None);
        assert_eq!(ratio(Some(2.0), Some(0.0)), None);
        assert_eq!(ratio(None, Some(2.0)), None);
    }

    #[test]
    fn summary_is_median_of_successful_rounds() {
        let mut results = Results::default();
        for cpu in [300.0, 100.0, 200.0] {
            results.add("get", "a", measured(cpu));
        }
        let failed = Measured { errors: 1, first_error: Some("boom".into()), ..Measured::default() };
        results.add("get", "a", failed);
        let servers = ["a".to_owned(), "b".to_owned()];
        let (name, rows) = results.by_workload(&servers).next().unwrap();
        let (server, summary) = rows.first().unwrap();
        assert_eq!((name, *server, rows.len()), ("get", "a", 1));
        assert_eq!((summary.cpu_ms_per_op, summary.rate), (Some(2.0), Some(50.0)));
        assert_eq!((summary.cpu_ms_per_op_min, summary.cpu_ms_per_op_max), (Some(1.0), Some(3.0)));
        assert_eq!((summary.errors, summary.note.as_deref()), (1, Some("boom")));
    }
}
