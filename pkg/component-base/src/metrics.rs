//! Metrics of a server and their page in the Prometheus text format.

mod histogram;
mod page;

pub use histogram::Histogram;
pub use page::{Family, Labels, Samples, Stability};
