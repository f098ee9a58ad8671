//! A flow schema at run time.

use std::sync::Arc;

use crate::config::Distinguisher;
use crate::schema_metrics::SchemaMetrics;

/// A flow schema at its level.
#[derive(Debug)]
pub(crate) struct Schema {
    pub(crate) name: Box<str>,
    /// The flow distinguisher; `None` if there is none or all flows share one queue.
    pub(crate) distinguisher: Option<Distinguisher>,
    /// Metrics of the schema. They outlive its configuration.
    pub(crate) metrics: Arc<SchemaMetrics>,
}
