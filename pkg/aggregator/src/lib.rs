//! API servers behind APIServices: their availability, their discovery documents, and the registration of what this
//! server itself serves (upstream's `kube-aggregator`).

mod aggregation;
pub mod api_services;
mod config;
mod error;
mod service_addresses;

pub use aggregation::{Aggregator, HOOKS};
pub use config::AggregationConfig;
pub use error::Error;
pub use service_addresses::ServiceAddresses;
