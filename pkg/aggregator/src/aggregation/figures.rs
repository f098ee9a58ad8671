//! Upstream's metrics of the aggregator about APIServices.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};

use server::metrics::Collector;

const GAUGE: &str = "aggregator_unavailable_apiservice";
const COUNTER: &str = "aggregator_unavailable_apiservice_total";

/// Unavailable APIServices, and their transitions to unavailable.
#[derive(Default)]
pub(super) struct Figures(Mutex<State>);

#[derive(Default)]
struct State {
    available: BTreeMap<String, bool>,
    /// By name and reason.
    losses: BTreeMap<(String, &'static str), u64>,
}

impl Figures {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn found(&self, name: &str, available: bool) {
        let mut state = self.state();
        match state.available.get_mut(name) {
            Some(known) => *known = available,
            None => _ = state.available.insert(name.to_owned(), available),
        }
    }

    /// Records a transition to unavailable.
    pub(super) fn lost(&self, name: &str, reason: &'static str) {
        *self.state().losses.entry((name.to_owned(), reason)).or_default() += 1;
    }

    /// Removes the series of all other APIServices.
    pub(super) fn keep(&self, names: &HashSet<&str>) {
        let mut state = self.state();
        state.available.retain(|name, _| names.contains(name.as_str()));
        state.losses.retain(|(name, _), _| names.contains(name.as_str()));
    }
}

impl Collector for Figures {
    fn collect(&self, out: &mut String) {
        let state = self.state();
        let _ = writeln!(
            out,
            "# HELP {GAUGE} [ALPHA] Gauge of APIServices which are marked as unavailable broken down by APIService name.\n\
             # TYPE {GAUGE} gauge"
        );
        for (name, available) in &state.available {
            let _ = writeln!(out, "{GAUGE}{{name={name:?}}} {}", u8::from(!available));
        }
        if state.losses.is_empty() {
            return;
        }
        let _ = writeln!(
            out,
            "# HELP {COUNTER} [ALPHA] Counter of APIServices which are marked as unavailable broken down by APIService name and reason.\n\
             # TYPE {COUNTER} counter"
        );
        for ((name, reason), count) in &state.losses {
            let _ = writeln!(out, "{COUNTER}{{name={name:?},reason={reason:?}}} {count}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removed_api_services_are_not_counted() {
        let figures = Figures::default();
        figures.found("v1.", true);
        figures.found("v1.example.com", false);
        figures.lost("v1.example.com", "MissingEndpoints");
        let mut page = String::new();
        figures.collect(&mut page);
        assert!(page.contains("aggregator_unavailable_apiservice{name=\"v1.\"} 0\n"), "{page}");
        assert!(page.contains("aggregator_unavailable_apiservice{name=\"v1.example.com\"} 1\n"), "{page}");
        assert!(page.contains("_total{name=\"v1.example.com\",reason=\"MissingEndpoints\"} 1\n"), "{page}");
        figures.keep(&HashSet::from(["v1."]));
        page.clear();
        figures.collect(&mut page);
        assert!(!page.contains("example.com"), "{page}");
    }
}
