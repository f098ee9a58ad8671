//! Metrics of conversion webhooks, with upstream's names, labels and buckets
//! (`apiextensions-apiserver/pkg/apiserver/conversion/metrics.go`).

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use component_base::metrics::Histogram;
use server::metrics::Collector;

const REQUESTS: &str = "apiserver_conversion_webhook_request_total";
const SECONDS: &str = "apiserver_conversion_webhook_duration_seconds";
const OF_DEFINITION: &str = "apiserver_crd_conversion_webhook_duration_seconds";

/// Upper bounds of a call, in microseconds.
const SECONDS_BOUNDS: [(&str, u64); 15] = [
    ("0.005", 5_000),
    ("0.01", 10_000),
    ("0.02", 20_000),
    ("0.05", 50_000),
    ("0.1", 100_000),
    ("0.2", 200_000),
    ("0.5", 500_000),
    ("1", 1_000_000),
    ("2", 2_000_000),
    ("5", 5_000_000),
    ("10", 10_000_000),
    ("20", 20_000_000),
    ("30", 30_000_000),
    ("45", 45_000_000),
    ("60", 60_000_000),
];
/// Upper bounds of a call per CRD, in microseconds.
const OF_DEFINITION_BOUNDS: [(&str, u64); 15] = [
    ("0.001", 1_000),
    ("0.002", 2_000),
    ("0.004", 4_000),
    ("0.008", 8_000),
    ("0.016", 16_000),
    ("0.032", 32_000),
    ("0.064", 64_000),
    ("0.128", 128_000),
    ("0.256", 256_000),
    ("0.512", 512_000),
    ("1.024", 1_024_000),
    ("2.048", 2_048_000),
    ("4.096", 4_096_000),
    ("8.192", 8_192_000),
    ("16.384", 16_384_000),
];

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
    fn labels(self) -> &'static str {
        match self {
            CallResult::Success => r#"failure_type="",result="success""#,
            CallResult::Call => r#"failure_type="conversion_webhook_call_failure",result="failure""#,
            CallResult::Malformed => {
                r#"failure_type="conversion_webhook_malformed_response_failure",result="failure""#
            }
            CallResult::Partial => {
                r#"failure_type="conversion_webhook_partial_response_failure",result="failure""#
            }
            CallResult::Invalid => {
                r#"failure_type="conversion_webhook_invalid_converted_object_failure",result="failure""#
            }
        }
    }
}

#[derive(Default)]
struct Series {
    by_end: BTreeMap<CallResult, Histogram<15>>,
    /// By the labels of CRD, versions and result.
    by_definition: BTreeMap<String, Histogram<15>>,
}

/// Metrics of all conversions. Each takes a round trip, so the cost of a lock is negligible.
#[derive(Default)]
pub struct ConversionFigures(Mutex<Series>);

impl ConversionFigures {
    /// Records a call.
    pub(super) fn asked(&self, ended: CallResult, definition: &str, from: &str, to: &str, took: Duration) {
        let version = |api_version: &str| api_version.rsplit('/').next().unwrap_or("").to_owned();
        let succeeded = ended == CallResult::Success;
        let labels = format!(
            "crd_name={definition:?},from_version={:?},succeeded=\"{succeeded}\",to_version={:?}",
            version(from),
            version(to)
        );
        let took = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let mut series = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        series.by_end.entry(ended).or_default().observe(&SECONDS_BOUNDS, took, took);
        series.by_definition.entry(labels).or_default().observe(&OF_DEFINITION_BOUNDS, took, took);
    }
}

impl Collector for ConversionFigures {
    fn collect(&self, out: &mut String) {
        let series = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if series.by_end.is_empty() {
            return;
        }
        let help = "Counter for conversion webhook requests with success/failure and failure error type";
        head(out, REQUESTS, help, "counter");
        for (ended, histogram) in &series.by_end {
            _ = writeln!(out, "{REQUESTS}{{{}}} {}", ended.labels(), histogram.count());
        }
        head(out, SECONDS, "Conversion webhook request latency", "histogram");
        for (ended, histogram) in &series.by_end {
            histogram.write(out, SECONDS, ended.labels(), 0, &SECONDS_BOUNDS, 1e6);
        }
        head(out, OF_DEFINITION, "CRD webhook conversion duration in seconds", "histogram");
        for (labels, histogram) in &series.by_definition {
            histogram.write(out, OF_DEFINITION, labels, 0, &OF_DEFINITION_BOUNDS, 1e6);
        }
    }
}

fn head(out: &mut String, name: &str, help: &str, kind: &str) {
    _ = writeln!(out, "# HELP {name} [ALPHA] {help}\n# TYPE {name} {kind}");
}
