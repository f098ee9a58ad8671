//! How long writes take, by what their clients want to be done about unknown and duplicate fields
//! (`field_validation_request_duration_seconds`). Upstream makes these series and never observes anything; here they count.

use std::time::Duration;

use apimachinery::query::Query;
use component_base::metrics::{Family, Histogram, Stability};

use super::{LATENCIES, Labels, SLI_SKIPPED, index, observe};

const SECONDS: Family = Family::histogram(
    Stability::Alpha,
    "field_validation_request_duration_seconds",
    "How long writes took, by the field validation that they asked for, in seconds.",
);
/// What can be asked for; the first also stands for what cannot.
const DIRECTIVES: [&str; 4] = ["", "Ignore", "Strict", "Warn"];

/// A directive, as its place in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Directive(u8);

impl Labels {
    /// What a request of such labels asks for; `None` if it does not bring an object.
    pub(crate) fn directive(self, query: &Query) -> Option<Directive> {
        let brings_object = matches!(self.verb(), "POST" | "PUT" | "PATCH" | "APPLY");
        let mut values = query.all("fieldValidation");
        let only = values.next().filter(|_| values.next().is_none());
        brings_object.then(|| Directive(index(&DIRECTIVES, only.unwrap_or_default())))
    }
}

/// How long writes took, by directive.
#[derive(Default)]
pub(crate) struct Validated([Histogram<{ LATENCIES.len() }>; DIRECTIVES.len()]);

impl Validated {
    /// Counts a write.
    pub(crate) fn count(&self, Directive(at): Directive, took: Duration) {
        self.0.get(usize::from(at)).inspect(|times| observe(times, took));
    }

    /// Appends the family.
    pub(crate) fn write(&self, out: &mut String) {
        let mut samples = SECONDS.write(out);
        for (directive, times) in DIRECTIVES.iter().zip(&self.0).filter(|(_, times)| !times.is_empty()) {
            let labels = [("field_validation", *directive)];
            samples.histogram_from(SLI_SKIPPED, &labels, times, &LATENCIES, 1e9);
        }
    }
}
