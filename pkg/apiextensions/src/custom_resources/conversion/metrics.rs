//! Metrics of conversion webhooks, with upstream's names, labels and buckets
//! (`apiextensions-apiserver/pkg/apiserver/conversion/metrics.go`).

use std::time::Duration;

use component_base::metrics::{
    Counter, Family, Histogram, HistogramVec, MetricsRegistry, Stability, buckets,
};

const REQUESTS: Family<Counter, 2> = Family::counter(
    Stability::Alpha,
    "apiserver_conversion_webhook_request_total",
    "Counter for conversion webhook requests with success/failure and failure error type",
    ["failure_type", "result"],
);
const SECONDS: Family<Histogram, 2> = Family::histogram(
    Stability::Alpha,
    "apiserver_conversion_webhook_duration_seconds",
    "Conversion webhook request latency",
    ["failure_type", "result"],
    &buckets::CONVERSION_SECONDS,
);
const OF_DEFINITION: Family<Histogram, 4> = Family::histogram(
    Stability::Alpha,
    "apiserver_crd_conversion_webhook_duration_seconds",
    "CRD webhook conversion duration in seconds",
    ["crd_name", "from_version", "succeeded", "to_version"],
    &buckets::MILLISECOND_DOUBLED_15,
);

/// Result of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum CallResult {
    Success,
    Call,
    Malformed,
    Partial,
    Invalid,
}

impl CallResult {
    /// Values of `failure_type` and `result`.
    fn labels(self) -> [&'static str; 2] {
        match self {
            CallResult::Success => ["", "success"],
            CallResult::Call => ["conversion_webhook_call_failure", "failure"],
            CallResult::Malformed => ["conversion_webhook_malformed_response_failure", "failure"],
            CallResult::Partial => ["conversion_webhook_partial_response_failure", "failure"],
            CallResult::Invalid => ["conversion_webhook_invalid_converted_object_failure", "failure"],
        }
    }
}

/// Metrics of all conversions. Each takes a round trip, so the cost of a lock is negligible.
pub struct ConversionMetrics {
    by_end: HistogramVec<2>,
    by_definition: HistogramVec<4>,
}

impl ConversionMetrics {
    pub fn new(registry: &MetricsRegistry) -> Self {
        let by_end = registry.register_vec(&SECONDS);
        registry.register_counts(&REQUESTS, &by_end);
        ConversionMetrics { by_end, by_definition: registry.register_vec(&OF_DEFINITION) }
    }

    /// Records a call.
    pub(super) fn record_call(
        &self,
        ended: CallResult,
        definition: &str,
        from: &str,
        to: &str,
        duration: Duration,
    ) {
        let succeeded = if ended == CallResult::Success { "true" } else { "false" };
        let labels = [definition, version(from), succeeded, version(to)];
        self.by_end.with(ended.labels()).observe_duration(duration);
        self.by_definition.with(labels).observe_duration(duration);
    }
}

/// Returns the version of an `apiVersion`.
fn version(api_version: &str) -> &str {
    api_version.rsplit('/').next().unwrap_or("")
}
