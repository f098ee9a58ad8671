//! Metrics of webhooks, with upstream's names, labels and buckets (`pkg/admission/metrics`).

use std::time::Duration;

use component_base::metrics::{
    Counter, CounterVec, Family, Histogram, HistogramVec, MetricsRegistry, Stability, buckets,
};

use super::hook::Hook;
use crate::Attributes;

const SECONDS: Family<Histogram, 4> = Family::histogram(
    Stability::Stable,
    "apiserver_admission_webhook_admission_duration_seconds",
    "Admission webhook latency histogram in seconds, identified by name and broken out for each operation and API resource and type (validate or admit).",
    ["name", "operation", "rejected", "type"],
    &buckets::ADMISSION_WEBHOOK_SECONDS,
);
const REQUESTS: Family<Counter, 5> = Family::counter(
    Stability::Alpha,
    "apiserver_admission_webhook_request_total",
    "Admission webhook request total, identified by name and broken out for each admission type (validating or admit) and operation. Additional labels specify whether the request was rejected or not and an HTTP status code. Codes greater than 600 are truncated to 600, to keep the metrics cardinality bounded.",
    ["code", "name", "operation", "rejected", "type"],
);
const REJECTIONS: Family<Counter, 5> = Family::counter(
    Stability::Alpha,
    "apiserver_admission_webhook_rejection_count",
    "Admission webhook rejection count, identified by name and broken out for each admission type (validating or admit) and operation. Additional labels specify an error type (calling_webhook_error or apiserver_internal_error if an error occurred; no_error otherwise) and optionally a non-zero rejection code if the webhook rejects the request with an HTTP status code (honored by the apiserver when the code is greater or equal to 400). Codes greater than 600 are truncated to 600, to keep the metrics cardinality bounded.",
    ["error_type", "name", "operation", "rejection_code", "type"],
);
const FAIL_OPEN: Family<Counter, 2> = Family::counter(
    Stability::Alpha,
    "apiserver_admission_webhook_fail_open_count",
    "Admission webhook fail open count, identified by name and broken out for each admission type (validating or admit).",
    ["name", "type"],
);

/// A finished call.
pub(super) struct FinishedCall<'a> {
    pub(super) hook: &'a Hook,
    pub(super) attributes: &'a Attributes<'a>,
    /// `admit` or `validating`.
    pub(super) kind: &'static str,
    pub(super) duration: Duration,
}

/// Result of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallResult {
    Allowed,
    Rejected(u16),
    /// No valid response. `open` if the request continues anyway.
    Failed {
        code: u16,
        open: bool,
    },
    /// This server failed.
    InternalError,
}

/// Metrics of all webhooks. A call takes a round trip, so the cost of a lock is negligible. Series of deleted
/// webhooks are retained, as in upstream.
pub struct WebhookMetrics {
    seconds: HistogramVec<4>,
    requests: CounterVec<5>,
    rejections: CounterVec<5>,
    fail_open: CounterVec<2>,
}

impl WebhookMetrics {
    pub fn new(registry: &MetricsRegistry) -> Self {
        WebhookMetrics {
            seconds: registry.register_vec(&SECONDS),
            requests: registry.register_vec(&REQUESTS),
            rejections: registry.register_vec(&REJECTIONS),
            fail_open: registry.register_vec(&FAIL_OPEN),
        }
    }

    pub(super) fn record(&self, call: &FinishedCall<'_>, ended: &CallResult) {
        let FinishedCall { hook, attributes, kind, duration } = call;
        let name: &str = &hook.name;
        let operation = attributes.operation.name();
        let (code, rejection) = match *ended {
            CallResult::Allowed => (200, None),
            CallResult::Rejected(code) => (code, Some(("no_error", code))),
            CallResult::Failed { code, open: true } => (code, None),
            CallResult::Failed { code, open: false } => (code, Some(("calling_webhook_error", code))),
            CallResult::InternalError => (0, Some(("apiserver_internal_error", 0))),
        };
        let rejected = if rejection.is_some() { "true" } else { "false" };
        self.seconds.with([name, operation, rejected, kind]).observe_duration(*duration);
        // Upstream caps codes at 600 in its labels.
        let text = |code: u16| code.min(600).to_string();
        self.requests.with([&text(code), name, operation, rejected, kind]).increment();
        if let Some((error, code)) = rejection {
            self.rejections.with([error, name, operation, &text(code), kind]).increment();
        }
        if matches!(ended, CallResult::Failed { open: true, .. }) {
            self.fail_open.with([name, kind]).increment();
        }
    }
}

/// Metrics that are counted but not exported.
impl Default for WebhookMetrics {
    fn default() -> Self {
        WebhookMetrics::new(&MetricsRegistry::default())
    }
}
