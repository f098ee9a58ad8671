//! Latency of node graph updates: upstream's `node_authorizer_graph_actions_duration_seconds`.

use std::fmt::Write;
use std::time::Duration;

const NAME: &str = "node_authorizer_graph_actions_duration_seconds";
/// Twelve bucket bounds; each is twice the previous one.
const FIRST_BOUND: Duration = Duration::from_micros(100);
const BOUNDS: usize = 12;

/// Bucket counts, overflow count and sum.
#[derive(Clone, Default)]
struct Histogram {
    counts: [u64; BOUNDS],
    beyond: u64,
    sum: Duration,
}

impl Histogram {
    fn add(&mut self, duration: Duration) {
        let slot = (0_u32..).zip(&mut self.counts).find(|(n, _)| duration <= FIRST_BOUND * (1 << n));
        *slot.map_or(&mut self.beyond, |(_, count)| count) += 1;
        self.sum += duration;
    }

    fn write(&self, operation: &str, out: &mut String) {
        let mut below = 0;
        for (n, count) in (0_u32..).zip(&self.counts) {
            below += count;
            let bound = (FIRST_BOUND * (1 << n)).as_secs_f64();
            let _ = writeln!(out, "{NAME}_bucket{{operation={operation:?},le=\"{bound}\"}} {below}");
        }
        let total = below + self.beyond;
        let _ = writeln!(out, "{NAME}_bucket{{operation={operation:?},le=\"+Inf\"}} {total}");
        let _ = writeln!(out, "{NAME}_sum{{operation={operation:?}}} {}", self.sum.as_secs_f64());
        let _ = writeln!(out, "{NAME}_count{{operation={operation:?}}} {total}");
    }
}

/// Durations by resource, separately for updates and deletions. Both copies of a view apply the same changes,
/// so either copy can be shown.
#[derive(Clone, Default)]
pub(super) struct Durations([[Histogram; 2]; super::SOURCES.len()]);

impl Durations {
    /// Records a change of an object of the resource with index `source`.
    pub(super) fn add(&mut self, source: usize, gone: bool, duration: Duration) {
        if let Some([there, deleted]) = self.0.get_mut(source) {
            if gone { deleted.add(duration) } else { there.add(duration) }
        }
    }

    /// Appends the histograms in the Prometheus text format, with these resource names.
    pub(super) fn write(&self, names: [&str; super::SOURCES.len()], out: &mut String) {
        let _ = writeln!(
            out,
            "# HELP {NAME} [ALPHA] Histogram of duration of graph actions in node authorizer.\n# TYPE {NAME} histogram"
        );
        for (name, [there, deleted]) in names.iter().zip(&self.0) {
            for (verb, histogram) in [("Add", there), ("Delete", deleted)] {
                if histogram.sum > Duration::ZERO {
                    histogram.write(&format!("{verb}{name}"), out);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duration_falls_into_first_matching_bucket() {
        let mut durations = Durations::default();
        durations.add(0, false, Duration::from_micros(150));
        let mut page = String::new();
        durations.write(["Pod", "", "", "", ""], &mut page);
        let samples: Vec<&str> = page.lines().filter(|line| line.contains("AddPod")).collect();
        assert_eq!(samples.len(), 15);
        assert!(samples[0].ends_with("{operation=\"AddPod\",le=\"0.0001\"} 0"), "{page}");
        assert!(samples[1].ends_with("{operation=\"AddPod\",le=\"0.0002\"} 1"), "{page}");
        assert!(!page.contains("DeletePod"));
    }
}
