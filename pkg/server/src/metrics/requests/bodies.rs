//! Body sizes of writes (apiserver `endpoints/handlers/metrics`), by resource and verb, for all versions and
//! subresources.

use std::collections::BTreeMap;

use component_base::metrics::{Family, Histogram, Stability};

use super::{Labels, Requests};

const SIZES: Family = Family::histogram(
    Stability::Alpha,
    "apiserver_request_body_size_bytes",
    "Lengths of the bodies of requests, as they were read, in bytes.",
);

/// Bucket bounds in bytes.
const BOUNDS: [(&str, u64); 31] = [
    ("50000", 50_000),
    ("150000", 150_000),
    ("250000", 250_000),
    ("350000", 350_000),
    ("450000", 450_000),
    ("550000", 550_000),
    ("650000", 650_000),
    ("750000", 750_000),
    ("850000", 850_000),
    ("950000", 950_000),
    ("1.05e+06", 1_050_000),
    ("1.15e+06", 1_150_000),
    ("1.25e+06", 1_250_000),
    ("1.35e+06", 1_350_000),
    ("1.45e+06", 1_450_000),
    ("1.55e+06", 1_550_000),
    ("1.65e+06", 1_650_000),
    ("1.75e+06", 1_750_000),
    ("1.85e+06", 1_850_000),
    ("1.95e+06", 1_950_000),
    ("2.05e+06", 2_050_000),
    ("2.15e+06", 2_150_000),
    ("2.25e+06", 2_250_000),
    ("2.35e+06", 2_350_000),
    ("2.45e+06", 2_450_000),
    ("2.55e+06", 2_550_000),
    ("2.65e+06", 2_650_000),
    ("2.75e+06", 2_750_000),
    ("2.85e+06", 2_850_000),
    ("2.95e+06", 2_950_000),
    ("3.05e+06", 3_050_000),
];

pub(super) type Bodies = Histogram<{ BOUNDS.len() }>;

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
            series.bodies.get_or_init(Box::default).observe(&BOUNDS, bytes, bytes);
        }
    }

    /// Writes the metric family.
    pub(super) fn write_bodies(&self, out: &mut String) {
        let mut sums: BTreeMap<[&str; 3], Bodies> = BTreeMap::new();
        for (labels, row, series) in self.all() {
            if let (Some(verb), Some(bodies)) = (labels.body_verb(), series.bodies.get()) {
                sums.entry([row.group, row.resource, verb]).or_default().absorb(bodies);
            }
        }
        let mut samples = SIZES.write(out);
        for ([group, resource, verb], sizes) in &sums {
            let labels = [("group", *group), ("resource", *resource), ("verb", *verb)];
            samples.observed(&labels, sizes, &BOUNDS, 1.0);
        }
    }
}
