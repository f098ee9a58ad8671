//! Body sizes of writes (apiserver `endpoints/handlers/metrics`), by resource and verb, for all versions and
//! subresources.

use std::collections::BTreeMap;

use component_base::metrics::{Family, Histogram, Metric, Page, Stability, buckets};

use super::{Labels, Requests};

pub(super) const SIZES: Family<Histogram, 3> = Family::histogram(
    Stability::Alpha,
    "apiserver_request_body_size_bytes",
    "Apiserver request body size in bytes broken out by resource and verb.",
    ["group", "resource", "verb"],
    &buckets::BODY_BYTES,
);

impl Labels {
    /// Verb label of the request in this metric; `None` for a request without a body.
    fn body_verb(self) -> Option<&'static str> {
        Some(match (self.verb(), self.scope()) {
            ("POST", _) => "create",
            ("PUT", _) => "update",
            ("PATCH" | "APPLY", _) => "patch",
            ("DELETE", "resource") => "delete",
            ("DELETE", _) => "delete_collection",
            _ => return None,
        })
    }
}

impl Requests {
    /// Counts the completely read body of a request.
    pub(crate) fn read(&self, labels: Labels, bytes: u64) {
        if labels.body_verb().is_some()
            && let Some(series) = self.series(labels)
        {
            series.bodies.get_or_init(|| Histogram::new(SIZES.buckets())).observe(bytes);
        }
    }

    /// Writes the metric family.
    pub(super) fn write_bodies(&self, page: &mut Page<'_>) {
        let mut sums: BTreeMap<[&str; 3], Histogram> = BTreeMap::new();
        for (labels, row, series) in self.all() {
            if let (Some(verb), Some(bodies)) = (labels.body_verb(), series.bodies.get()) {
                let sum = sums.entry([row.group, row.resource, verb]);
                sum.or_insert_with(|| Histogram::new(SIZES.buckets())).add_all(bodies);
            }
        }
        let mut samples = page.family(&SIZES);
        sums.iter().for_each(|(labels, sizes)| samples.write_used(*labels, sizes));
    }
}
