//! Metrics of an external signer, with upstream's names (`pkg/serviceaccount/externaljwt/metrics`).

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use apimachinery::time::UnixTime;
use component_base::metrics::{
    Counter, CounterVec, Family, Gauge, Histogram, HistogramVec, MetricsRegistry, Stability, buckets,
};

use super::SignerError;

const DATA_TIMESTAMP: Family<Gauge, 0> = Family::gauge(
    Stability::Alpha,
    "apiserver_externaljwt_fetch_keys_data_timestamp",
    "Unix Timestamp in seconds of the last successful FetchKeys data_timestamp value returned by the external signer",
    [],
);
const FETCH_TIMESTAMP: Family<Gauge, 0> = Family::gauge(
    Stability::Alpha,
    "apiserver_externaljwt_fetch_keys_success_timestamp",
    "Unix Timestamp in seconds of the last successful FetchKeys request",
    [],
);
const FETCHES: Family<Counter, 1> = Family::counter(
    Stability::Alpha,
    "apiserver_externaljwt_fetch_keys_request_total",
    "Total attempts at syncing supported JWKs",
    ["code"],
);
const SIGNS: Family<Counter, 1> = Family::counter(
    Stability::Alpha,
    "apiserver_externaljwt_sign_request_total",
    "Total attempts at signing JWT",
    ["code"],
);
const SECONDS: Family<Histogram, 2> = Family::histogram(
    Stability::Alpha,
    "apiserver_externaljwt_request_duration_seconds",
    "Request duration and time for calls to external-jwt-signer",
    ["code", "method"],
    &buckets::EXTERNAL_SIGNER_SECONDS,
);

/// Metrics of a signer. The set of codes is small: those of gRPC, and one for other errors.
#[derive(Debug)]
pub struct SignerMetrics {
    last: Arc<Mutex<Option<Fetch>>>,
    fetches: CounterVec<1>,
    signs: CounterVec<1>,
    calls: HistogramVec<2>,
}

/// Last successful key fetch.
#[derive(Debug, Clone, Copy)]
struct Fetch {
    fetched_at: UnixTime,
    /// The signer's timestamp of these keys.
    data_timestamp: UnixTime,
}

fn code<T>(outcome: &Result<T, SignerError>) -> &'static str {
    outcome.as_ref().map_or_else(|error| error.code, |_| "OK")
}

impl SignerMetrics {
    pub fn new(registry: &MetricsRegistry) -> Self {
        let last = Arc::<Mutex<Option<Fetch>>>::default();
        let read = Arc::clone(&last);
        registry.collect(&[&DATA_TIMESTAMP, &FETCH_TIMESTAMP], move |page| {
            let last = *read.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(Fetch { fetched_at, data_timestamp }) = last {
                page.family(&DATA_TIMESTAMP).add([], data_timestamp);
                page.family(&FETCH_TIMESTAMP).add([], fetched_at);
            }
        });
        SignerMetrics {
            last,
            fetches: registry.register_vec(&FETCHES),
            signs: registry.register_vec(&SIGNS),
            calls: registry.register_vec(&SECONDS),
        }
    }

    /// Records a call with its gRPC method and status code.
    pub fn record_call(&self, method: &'static str, code: &'static str, duration: Duration) {
        self.calls.with([code, method]).observe_duration(duration);
    }

    /// Records a key fetch; `outcome` contains the signer's timestamp of the keys.
    pub(super) fn record_fetch(&self, outcome: &Result<UnixTime, SignerError>, now: UnixTime) {
        self.fetches.with([code(outcome)]).increment();
        if let Ok(data_timestamp) = outcome {
            let fetch = Fetch { fetched_at: now, data_timestamp: *data_timestamp };
            *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(fetch);
        }
    }

    /// Records a signature request.
    pub(super) fn record_signature<T>(&self, outcome: &Result<T, SignerError>) {
        self.signs.with([code(outcome)]).increment();
    }
}

/// Metrics that are counted but not exported.
impl Default for SignerMetrics {
    fn default() -> Self {
        SignerMetrics::new(&MetricsRegistry::default())
    }
}
