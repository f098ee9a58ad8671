//! Lease metrics, with upstream's names (apiserver `storage/etcd3/metrics`).

use component_base::metrics::{Family, Histogram, Stability};

const OBJECTS: Family = Family::histogram(
    Stability::Alpha,
    "etcd_lease_object_counts",
    "How many keys a lease was handed to before another one took its place.",
);
const BOUNDS: [(&str, u64); 7] =
    [("10", 10), ("50", 50), ("100", 100), ("500", 500), ("1000", 1000), ("2500", 2500), ("5000", 5000)];

#[derive(Debug, Default)]
pub struct LeaseFigures(Histogram<7>);

impl LeaseFigures {
    /// Records a lease that was used for this many keys and is not used for more.
    pub(crate) fn replaced(&self, uses: u32) {
        self.0.observe(&BOUNDS, uses.into(), uses.into());
    }

    /// Writes the metric family, if any lease was replaced.
    pub fn write(&self, out: &mut String) {
        OBJECTS.write(out).observed(&[], &self.0, &BOUNDS, 1.0);
    }
}
