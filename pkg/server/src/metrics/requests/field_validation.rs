//! Latency of writes by `fieldValidation` (`field_validation_request_duration_seconds`). Upstream defines
//! these series but never observes a value; here they count.

use std::time::Duration;

use apimachinery::query::Query;
use component_base::metrics::{Family, Histogram, Stability};

use super::{LATENCIES, Labels, SLI_SKIPPED, index, observe};

const SECONDS: Family = Family::histogram(
    Stability::Alpha,
    "field_validation_request_duration_seconds",
    "How long writes took, by the field validation that they asked for, in seconds.",
);
/// Values of the parameter; the first one also counts invalid values.
const DIRECTIVES: [&str; 4] = ["", "Ignore", "Strict", "Warn"];

/// Value of the parameter, as a table index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Directive(u8);

impl Labels {
    /// Returns the value for a request with these labels; `None` if the request has no object.
    pub(crate) fn directive(self, query: &Query) -> Option<Directive> {
        let brings_object = matches!(self.verb(), "POST" | "PUT" | "PATCH" | "APPLY");
        let mut values = query.all("fieldValidation");
        let only = values.next().filter(|_| values.next().is_none());
        brings_object.then(|| Directive(index(&DIRECTIVES, only.unwrap_or_default())))
    }
}

#[derive(Default)]
pub(crate) struct Validated([Histogram<{ LATENCIES.len() }>; DIRECTIVES.len()]);

impl Validated {
    pub(crate) fn count(&self, Directive(at): Directive, took: Duration) {
        self.0.get(usize::from(at)).inspect(|times| observe(times, took));
    }

    /// Appends the metric family.
    pub(crate) fn write(&self, out: &mut String) {
        let mut samples = SECONDS.write(out);
        for (directive, times) in DIRECTIVES.iter().zip(&self.0).filter(|(_, times)| !times.is_empty()) {
            let labels = [("field_validation", *directive)];
            samples.histogram_from(SLI_SKIPPED, &labels, times, &LATENCIES, 1e9);
        }
    }
}
