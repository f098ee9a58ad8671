//! Latency of node graph updates: upstream's `node_authorizer_graph_actions_duration_seconds`.

use std::time::Duration;

use component_base::metrics::{Family, Histogram, Metric, Page, Stability, buckets};

pub(super) const ACTIONS: Family<Histogram, 1> = Family::histogram(
    Stability::Alpha,
    "node_authorizer_graph_actions_duration_seconds",
    "Histogram of duration of graph actions in node authorizer.",
    ["operation"],
    &buckets::HUNDRED_MICROSECONDS_DOUBLED_12,
);

/// Durations by resource, separately for updates and deletions. Both copies of a view apply the same changes,
/// so either copy can be shown.
pub(super) struct Durations([[Histogram; 2]; super::SOURCES.len()]);

impl Default for Durations {
    fn default() -> Self {
        let create = |_| Histogram::new(ACTIONS.buckets());
        Durations(std::array::from_fn(|_| std::array::from_fn(create)))
    }
}

impl Clone for Durations {
    fn clone(&self) -> Self {
        Durations(self.0.each_ref().map(|verbs| verbs.each_ref().map(Histogram::deep_clone)))
    }
}

impl Durations {
    /// Records a change of an object of the resource with index `source`.
    pub(super) fn add(&mut self, source: usize, is_deletion: bool, duration: Duration) {
        if let Some([added, deleted]) = self.0.get_mut(source) {
            if is_deletion { deleted } else { added }.observe_duration(duration);
        }
    }

    /// Writes the histograms, with these resource names.
    pub(super) fn write(&self, names: [&str; super::SOURCES.len()], page: &mut Page<'_>) {
        let mut samples = page.family(&ACTIONS);
        for (name, [added, deleted]) in names.iter().zip(&self.0) {
            for (verb, histogram) in [("Add", added), ("Delete", deleted)] {
                samples.write_used([&format!("{verb}{name}")], histogram);
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
        let selection = component_base::metrics::Selection::default();
        let mut page = Page::new(&selection);
        durations.write(["Pod", "", "", "", ""], &mut page);
        let page = page.into_text();
        let samples: Vec<&str> = page.lines().filter(|line| line.contains("AddPod")).collect();
        assert_eq!(samples.len(), 15);
        assert!(samples[0].ends_with("{operation=\"AddPod\",le=\"0.0001\"} 0"), "{page}");
        assert!(samples[1].ends_with("{operation=\"AddPod\",le=\"0.0002\"} 1"), "{page}");
        assert!(!page.contains("DeletePod"));
    }
}
