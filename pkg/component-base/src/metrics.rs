//! Metrics registry of a server and its page in the Prometheus text format 0.0.4.
//!
//! A [`Family`] is a constant: name, type, stability, help text, label names and, for a histogram, its
//! [`Buckets`]. A component registers its families in the [`MetricsRegistry`] of the server and keeps the
//! returned handles ([`Counter`], [`Gauge`], [`Histogram`], [`MetricVec`]). Values that exist elsewhere are read
//! on each scrape ([`MetricsRegistry::collect`]).
//!
//! The crate `prometheus-client` does not fit: it writes OpenMetrics, which appends `_total` to counters and
//! ends a page with `# EOF`, and it has no stability levels.

pub mod buckets;
mod family;
mod handles;
mod histogram;
mod number;
mod page;
mod registry;
mod selection;
mod vec;

pub use buckets::Buckets;
pub use family::{AnyFamily, Desc, Family, Kind, Metric, Stability, Summary};
pub use handles::{Counter, Gauge};
pub use histogram::{Distribution, Histogram};
pub use number::Number;
pub use page::{Page, Samples};
pub use registry::MetricsRegistry;
pub use selection::{InvalidNameError, Selection};
pub use vec::{CounterVec, GaugeVec, HistogramVec, MetricVec};
