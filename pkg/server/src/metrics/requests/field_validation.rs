//! Latency of writes by `fieldValidation` (`field_validation_request_duration_seconds`). Upstream defines
//! these series but never observes a value; here they count.

use std::time::Duration;

use apimachinery::query::Query;
use component_base::metrics::{Family, Histogram, MetricsRegistry, Stability, buckets};

use super::{Labels, index};

const SECONDS: Family<Histogram, 1> = Family::histogram(
    Stability::Alpha,
    "field_validation_request_duration_seconds",
    "Response latency distribution in seconds for each field validation value",
    ["field_validation"],
    &buckets::SLI_SECONDS,
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

pub(crate) struct FieldValidationHistograms([Histogram; DIRECTIVES.len()]);

impl FieldValidationHistograms {
    pub(crate) fn new(registry: &MetricsRegistry) -> Self {
        let durations = registry.register_vec(&SECONDS);
        FieldValidationHistograms(DIRECTIVES.map(|directive| durations.with([directive])))
    }

    pub(crate) fn count(&self, Directive(at): Directive, duration: Duration) {
        self.0.get(usize::from(at)).inspect(|times| times.observe_duration(duration));
    }
}
