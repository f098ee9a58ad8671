//! Metrics of encryption and decryption, with upstream's names and help texts (`storage/value/metrics.go`).

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use apimachinery::go_quote::Quoted;
use component_base::metrics::Histogram;

use crate::Error;

/// Upper bounds of duration buckets, as text and in nanoseconds. They start at 5 µs and double. All
/// encryption duration metrics of this process start with these bounds; some use fewer.
pub const DURATION_BOUNDS: [(&str, u64); 25] = [
    ("5e-06", 5_000),
    ("1e-05", 10_000),
    ("2e-05", 20_000),
    ("4e-05", 40_000),
    ("8e-05", 80_000),
    ("0.00016", 160_000),
    ("0.00032", 320_000),
    ("0.00064", 640_000),
    ("0.00128", 1_280_000),
    ("0.00256", 2_560_000),
    ("0.00512", 5_120_000),
    ("0.01024", 10_240_000),
    ("0.02048", 20_480_000),
    ("0.04096", 40_960_000),
    ("0.08192", 81_920_000),
    ("0.16384", 163_840_000),
    ("0.32768", 327_680_000),
    ("0.65536", 655_360_000),
    ("1.31072", 1_310_720_000),
    ("2.62144", 2_621_440_000),
    ("5.24288", 5_242_880_000),
    ("10.48576", 10_485_760_000),
    ("20.97152", 20_971_520_000),
    ("41.94304", 41_943_040_000),
    ("83.88608", 83_886_080_000),
];

/// Maximum number of (resource, provider) pairs with their own counters. CRDs come and go; pairs beyond the
/// limit are counted under an empty resource name.
const CELLS_MAX: usize = 10_000;

/// Direction of a transformation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// Decryption.
    FromStorage,
    /// Encryption.
    ToStorage,
}

const DIRECTIONS: [Direction; 2] = [Direction::FromStorage, Direction::ToStorage];

impl Direction {
    /// Returns the label value.
    pub fn name(self) -> &'static str {
        match self {
            Direction::FromStorage => "from_storage",
            Direction::ToStorage => "to_storage",
        }
    }
}

type Durations = Histogram<25>;

/// Counters of one provider, or of one of its keys, for one resource.
#[derive(Debug)]
pub(crate) struct ProviderCounters {
    resource: String,
    prefix: String,
    /// Successes, by direction.
    done: [AtomicU64; 2],
    /// Shared by all resources.
    took: [Arc<Durations>; 2],
}

/// Encryption metrics.
#[derive(Debug, Default)]
pub struct Figures {
    counted: Mutex<MetricsState>,
}

#[derive(Debug, Default)]
struct MetricsState {
    /// By resource and prefix.
    cells: BTreeMap<(String, String), Arc<ProviderCounters>>,
    /// By direction and prefix.
    took: BTreeMap<(Direction, String), Arc<Durations>>,
    /// By resource, direction, prefix and status.
    failed: BTreeMap<(String, Direction, String, &'static str), u64>,
}

impl Figures {
    /// Returns the counters of a provider for a resource. `prefix` is the provider's prefix of encrypted
    /// values.
    pub(crate) fn cell(&self, resource: &str, prefix: &str) -> Arc<ProviderCounters> {
        let mut counted = self.counted();
        let known = (resource.to_owned(), prefix.to_owned());
        if let Some(cell) = counted.cells.get(&known) {
            return Arc::clone(cell);
        }
        let (resource, prefix) =
            if counted.cells.len() < CELLS_MAX { known } else { (String::new(), known.1) };
        let took = DIRECTIONS.map(|direction| {
            let labels = (direction, label(direction, &prefix).to_owned());
            Arc::clone(counted.took.entry(labels).or_default())
        });
        let cell = Arc::new(ProviderCounters { resource, prefix, done: Default::default(), took });
        let key = (cell.resource.clone(), cell.prefix.clone());
        Arc::clone(counted.cells.entry(key).or_insert(cell))
    }

    /// Counts the result of one attempt of a provider.
    pub(crate) fn ended(
        &self,
        cell: &ProviderCounters,
        way: Direction,
        took: Duration,
        how: Result<(), &Error>,
    ) {
        if let Err(error) = how {
            return self.failed(&cell.resource, way, label(way, &cell.prefix), error);
        }
        let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        let ([opened, sealed], [opening, sealing]) = (&cell.done, &cell.took);
        let (done, durations) = match way {
            Direction::FromStorage => (opened, opening),
            Direction::ToStorage => (sealed, sealing),
        };
        done.fetch_add(1, Relaxed);
        durations.observe(&DURATION_BOUNDS, nanos, nanos);
    }

    /// Counts a value that no provider could decrypt. `cell` is any of its resource.
    pub(crate) fn unknown(&self, cell: &ProviderCounters, error: &Error) {
        self.failed(&cell.resource, Direction::FromStorage, "unknown", error);
    }

    fn failed(&self, resource: &str, way: Direction, prefix: &str, error: &Error) {
        let key = (resource.to_owned(), way, prefix.to_owned(), error.status());
        *self.counted().failed.entry(key).or_default() += 1;
    }

    /// Every change under the lock is complete, so a poisoned lock is still good.
    fn counted(&self) -> MutexGuard<'_, MetricsState> {
        self.counted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends the metric families that have samples.
    pub fn write(&self, out: &mut String) {
        let counted = self.counted();
        let mut lines: Vec<String> = Vec::new();
        let line = |resource: &str, way: Direction, prefix: &str, status: &str, count: u64| {
            format!(
                "apiserver_storage_transformation_operations_total{{resource={},status=\"{status}\",\
                 transformation_type=\"{}\",transformer_prefix={}}} {count}",
                Quoted(resource),
                way.name(),
                Quoted(prefix)
            )
        };
        for cell in counted.cells.values() {
            for (way, done) in DIRECTIONS.into_iter().zip(&cell.done) {
                let count = done.load(Relaxed);
                if count > 0 {
                    lines.push(line(&cell.resource, way, label(way, &cell.prefix), "OK", count));
                }
            }
        }
        for ((resource, way, prefix, status), count) in &counted.failed {
            lines.push(line(resource, *way, prefix, status, *count));
        }
        if lines.is_empty() {
            return;
        }
        lines.sort_unstable();
        let name = "apiserver_storage_transformation_operations_total";
        let help = "Total number of transformations. Successful transformation will have a status 'OK' and a varied \
                    status string when the transformation fails. The status, resource, and transformation_type \
                    fields can be used for alerting purposes. For example, you can monitor for \
                    encryption/decryption failures using the transformation_type (e.g., from_storage for decryption \
                    and to_storage for encryption). Additionally, these fields can be used to ensure that the \
                    correct transformers are applied to each resource.";
        let _ = writeln!(out, "# HELP {name} [ALPHA] {help}\n# TYPE {name} counter\n{}", lines.join("\n"));
        let shown: Vec<_> = counted.took.iter().filter(|(_, durations)| !durations.is_empty()).collect();
        let name = "apiserver_storage_transformation_duration_seconds";
        if !shown.is_empty() {
            let help = "Latencies in seconds of value transformation operations.";
            let _ = writeln!(out, "# HELP {name} [ALPHA] {help}\n# TYPE {name} histogram");
        }
        for ((way, prefix), durations) in shown {
            let labels =
                format!("transformation_type=\"{}\",transformer_prefix={}", way.name(), Quoted(prefix));
            durations.write(out, name, &labels, 0, &DURATION_BOUNDS, 1e9);
        }
    }
}

/// Returns the label of a prefix. Upstream leaves the label empty for a provider that writes without a
/// prefix.
fn label(way: Direction, prefix: &str) -> &str {
    match (way, prefix) {
        (Direction::FromStorage, "") => "identity",
        (_, prefix) => prefix,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_counted_by_resource_and_provider() {
        let figures = Figures::default();
        let page = || {
            let mut page = String::new();
            figures.write(&mut page);
            page
        };
        let cell = figures.cell("secrets", "k8s:enc:aesgcm:v1:");
        assert_eq!(page(), "");
        figures.ended(&cell, Direction::ToStorage, Duration::from_micros(7), Ok(()));
        figures.ended(&cell, Direction::FromStorage, Duration::ZERO, Err(&Error::grpc("no", "Unavailable")));
        figures.unknown(&cell, &Error::new("no"));
        let identity = figures.cell("pods", "");
        figures.ended(&identity, Direction::FromStorage, Duration::ZERO, Ok(()));
        let page = page();
        for expected in [
            "total{resource=\"secrets\",status=\"OK\",transformation_type=\"to_storage\",\
             transformer_prefix=\"k8s:enc:aesgcm:v1:\"} 1\n",
            "total{resource=\"secrets\",status=\"Unavailable\",transformation_type=\"from_storage\",\
             transformer_prefix=\"k8s:enc:aesgcm:v1:\"} 1\n",
            "total{resource=\"secrets\",status=\"unknown-non-grpc\",transformation_type=\"from_storage\",\
             transformer_prefix=\"unknown\"} 1\n",
            "total{resource=\"pods\",status=\"OK\",transformation_type=\"from_storage\",\
             transformer_prefix=\"identity\"} 1\n",
            "seconds_bucket{transformation_type=\"to_storage\",transformer_prefix=\"k8s:enc:aesgcm:v1:\",le=\"1e-05\"} 1\n",
            "seconds_sum{transformation_type=\"to_storage\",transformer_prefix=\"k8s:enc:aesgcm:v1:\"} 0.000007\n",
        ] {
            assert!(page.contains(expected), "{expected}: {page}");
        }
    }

    #[test]
    fn series_of_deleted_resources_are_bounded() {
        let figures = Figures::default();
        for number in 0..CELLS_MAX + 5 {
            let cell = figures.cell(&format!("things{number}"), "");
            figures.unknown(&cell, &Error::new("no"));
        }
        let counted = figures.counted();
        assert_eq!((counted.cells.len(), counted.failed.len()), (CELLS_MAX + 1, CELLS_MAX + 1));
    }
}
