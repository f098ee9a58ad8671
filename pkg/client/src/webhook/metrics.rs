//! Metrics of webhook calls by host, with upstream's names (component-base `metrics/prometheus/restclient`).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use component_base::clock::Clock;
use component_base::metrics::{
    Counter, CounterVec, Distribution, Family, Histogram, HistogramVec, MetricsRegistry, Stability, buckets,
};
use slab::Slab;
use tokio::time::Instant;

use crate::exec::ExecMetrics;

const REQUESTS: Family<Counter, 3> = Family::counter(
    Stability::Alpha,
    "rest_client_requests_total",
    "Number of HTTP requests, partitioned by status code, method, and host.",
    ["code", "host", "method"],
);
const SECONDS: Family<Histogram, 2> = Family::histogram(
    Stability::Alpha,
    "rest_client_request_duration_seconds",
    "Request latency in seconds. Broken down by verb, and host.",
    ["host", "verb"],
    &buckets::CLIENT_SECONDS,
);
const REQUEST_BYTES: Family<Histogram, 2> = Family::histogram(
    Stability::Alpha,
    "rest_client_request_size_bytes",
    "Request size in bytes. Broken down by verb and host.",
    ["host", "verb"],
    &buckets::CLIENT_BYTES,
);
const RESPONSE_BYTES: Family<Histogram, 2> = Family::histogram(
    Stability::Alpha,
    "rest_client_response_size_bytes",
    "Response size in bytes. Broken down by verb and host.",
    ["host", "verb"],
    &buckets::CLIENT_BYTES,
);
const MISSING_SAN: Family<Counter, 0> = Family::counter(
    Stability::Beta,
    "apiserver_webhooks_x509_missing_san_total",
    "Counts the number of requests to servers missing SAN extension in their serving certificate OR the number of connection failures due to the lack of x509 certificate SAN extension missing (either/or, based on the runtime environment)",
    [],
);
const INSECURE_SHA1: Family<Counter, 0> = Family::counter(
    Stability::Beta,
    "apiserver_webhooks_x509_insecure_sha1_total",
    "Counts the number of requests to servers with insecure SHA1 signatures in their serving certificate OR the number of connection failures due to the insecure SHA1 signatures (either/or, based on the runtime environment)",
    [],
);
/// Error texts of a certificate without a name of the host's kind.
const WITHOUT_NAMES: [&str; 2] = ["certificate is not valid for any names", "doesn't contain any IP SANs"];
/// Part of the error text of a certificate with an insecure signature; the name of the algorithm follows.
const INSECURE_ALGORITHM: &str = "insecure algorithm";
/// Verb and method of all calls.
const POST: &str = "POST";

/// Status codes with their own series; others count under the first code of their hundred.
const CODES: [(u16, &str); 19] = [
    (100, "100"),
    (200, "200"),
    (201, "201"),
    (202, "202"),
    (204, "204"),
    (300, "300"),
    (400, "400"),
    (401, "401"),
    (403, "403"),
    (404, "404"),
    (405, "405"),
    (409, "409"),
    (413, "413"),
    (422, "422"),
    (429, "429"),
    (500, "500"),
    (502, "502"),
    (503, "503"),
    (504, "504"),
];
/// Maximum number of hosts with metrics. API users can create webhooks for many hosts; further hosts are not
/// counted.
const HOSTS_MAX: usize = 1024;

/// Metrics of one host; all calls are POST.
#[derive(Debug)]
pub(super) struct HostMetrics {
    host: String,
    requests: CounterVec<3>,
    /// Counters of `requests` for this host, by index in `CODES`, with one more for calls without a response.
    by_code: [OnceLock<Counter>; CODES.len() + 1],
    seconds: Histogram,
    request_bytes: Histogram,
    response_bytes: Histogram,
    rejected_certificates: RejectedCertificates,
    in_flight: Mutex<Slab<InFlightCall>>,
}

/// Counters of connections that failed because of the server's certificate.
#[derive(Debug, Clone)]
struct RejectedCertificates {
    missing_san: Counter,
    insecure_sha1: Counter,
}

/// A call in flight.
#[derive(Debug)]
struct InFlightCall {
    path: Box<str>,
    started_at: Instant,
}

/// Calls in flight to one host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InFlightCalls {
    /// Host and port.
    pub host: String,
    pub calls: usize,
    /// Path of the oldest call.
    pub path: String,
    /// Age of the oldest call.
    pub age: Duration,
}

/// Registration of a call in flight, until dropped.
pub(super) struct InFlightGuard<'h> {
    host: &'h HostMetrics,
    key: usize,
}

impl Drop for InFlightGuard<'_> {
    fn drop(&mut self) {
        self.host.in_flight_calls().try_remove(self.key);
    }
}

impl HostMetrics {
    fn in_flight_calls(&self) -> MutexGuard<'_, Slab<InFlightCall>> {
        self.in_flight.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a call of this path.
    pub(super) fn begin(&self, path: &str, started_at: Instant) -> InFlightGuard<'_> {
        let key = self.in_flight_calls().insert(InFlightCall { path: path.into(), started_at });
        InFlightGuard { host: self, key }
    }

    /// Counts a call with its body size in bytes. `response` is the status code and body size of the response,
    /// if any.
    pub(super) fn record_call(&self, sent: usize, response: Option<(u16, usize)>, duration: Duration) {
        self.seconds.observe_duration(duration);
        self.request_bytes.observe(sent as u64);
        let place = match response {
            None => Some(CODES.len()),
            Some((code, received)) => {
                self.response_bytes.observe(received as u64);
                let place = |expected: u16| CODES.iter().position(|(code, _)| *code == expected);
                place(code).or_else(|| place(code / 100 * 100))
            }
        };
        if let Some(counter) = place.and_then(|place| self.counter(place)) {
            counter.increment();
        }
    }

    /// Counts a call that failed with this error, if the cause is the server's certificate.
    pub(super) fn record_error(&self, message: &str) {
        if WITHOUT_NAMES.iter().any(|text| message.contains(text)) {
            self.rejected_certificates.missing_san.increment();
        }
        if message.contains(INSECURE_ALGORITHM) && message.contains("SHA1") {
            self.rejected_certificates.insecure_sha1.increment();
        }
    }

    /// Returns the counter at an index of `by_code`, which exists from the first call with its code.
    fn counter(&self, place: usize) -> Option<&Counter> {
        let code = CODES.get(place).map_or("<error>", |(_, code)| code);
        let counter = self.by_code.get(place)?;
        Some(counter.get_or_init(|| self.requests.with([code, &self.host, POST])))
    }
}

/// Metrics of webhook calls.
#[derive(Debug)]
pub struct ClientMetrics {
    hosts: Mutex<BTreeMap<String, Arc<HostMetrics>>>,
    requests: CounterVec<3>,
    seconds: HistogramVec<2>,
    request_bytes: HistogramVec<2>,
    response_bytes: HistogramVec<2>,
    rejected_certificates: RejectedCertificates,
    programs: Arc<ExecMetrics>,
}

impl ClientMetrics {
    /// Creates empty metrics of calls and of credential plugins. `clock` determines the remaining validity of
    /// certificates.
    pub fn new(registry: &MetricsRegistry, clock: &Arc<dyn Clock>) -> Self {
        ClientMetrics {
            hosts: Mutex::default(),
            requests: registry.register_vec(&REQUESTS),
            seconds: registry.register_vec(&SECONDS),
            request_bytes: registry.register_vec(&REQUEST_BYTES),
            response_bytes: registry.register_vec(&RESPONSE_BYTES),
            rejected_certificates: RejectedCertificates {
                missing_san: registry.register(&MISSING_SAN),
                insecure_sha1: registry.register(&INSECURE_SHA1),
            },
            programs: Arc::new(ExecMetrics::new(registry, clock)),
        }
    }

    /// Returns the metrics of credential plugins.
    pub fn programs(&self) -> &Arc<ExecMetrics> {
        &self.programs
    }

    /// Returns the metrics of a host; `None` if there are too many others.
    pub(super) fn host(&self, authority: &str) -> Option<Arc<HostMetrics>> {
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(metrics) = hosts.get(authority) {
            return Some(Arc::clone(metrics));
        }
        if hosts.len() >= HOSTS_MAX {
            return None;
        }
        let labels = [authority, POST];
        let host = Arc::new(HostMetrics {
            host: authority.to_owned(),
            requests: self.requests.clone(),
            by_code: std::array::from_fn(|_| OnceLock::new()),
            seconds: self.seconds.with(labels),
            request_bytes: self.request_bytes.with(labels),
            response_bytes: self.response_bytes.with(labels),
            rejected_certificates: self.rejected_certificates.clone(),
            in_flight: Mutex::default(),
        });
        hosts.insert(authority.to_owned(), Arc::clone(&host));
        Some(host)
    }

    /// Returns the durations of calls by host.
    pub fn durations(&self) -> Vec<(String, Distribution)> {
        let mut durations = Vec::new();
        self.seconds.for_each(|[host, _], seconds| durations.push((host.to_owned(), seconds.distribution())));
        durations
    }

    /// Returns the hosts with calls in flight at `now`.
    pub fn in_flight(&self, now: Instant) -> Vec<InFlightCalls> {
        let hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let row = |(host, metrics): (String, Arc<HostMetrics>)| {
            let calls = metrics.in_flight_calls();
            let (_, oldest) = calls.iter().min_by_key(|(_, call)| call.started_at)?;
            let path = oldest.path.to_string();
            let age = now.saturating_duration_since(oldest.started_at);
            Some(InFlightCalls { host, calls: calls.len(), path, age })
        };
        hosts.into_iter().filter_map(row).collect()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use component_base::clock::TestClock;

    use super::*;

    fn metrics(registry: &MetricsRegistry) -> ClientMetrics {
        let clock: Arc<dyn Clock> = Arc::<TestClock>::default();
        ClientMetrics::new(registry, &clock)
    }

    #[test]
    fn rejected_certificates_are_counted() {
        let registry = MetricsRegistry::default();
        let metrics = metrics(&registry);
        let host = metrics.host("a.b.svc:443").unwrap();
        host.record_error("x509: certificate is not valid for any names, but wanted to match a.b.svc");
        host.record_error("x509: cannot verify signature: insecure algorithm SHA1-RSA");
        host.record_error("x509: cannot verify signature: insecure algorithm MD5-RSA");
        host.record_error("EOF");
        let page = registry.to_string();
        for name in ["missing_san", "insecure_sha1"] {
            assert!(page.contains(&format!("apiserver_webhooks_x509_{name}_total 1\n")), "{page}");
        }
    }

    #[test]
    fn call_is_in_flight_until_dropped() {
        let registry = MetricsRegistry::default();
        let metrics = metrics(&registry);
        let host = metrics.host("a.b.svc:443").unwrap();
        let start = Instant::now();
        let first = host.begin("/judge", start);
        let second = host.begin("/other", start + Duration::from_secs(1));
        let age = Duration::from_secs(9);
        let row = |calls, path: &str, age| {
            vec![InFlightCalls { host: "a.b.svc:443".to_owned(), calls, path: path.to_owned(), age }]
        };
        assert_eq!(metrics.in_flight(start + age), row(2, "/judge", age));
        drop(first);
        assert_eq!(metrics.in_flight(start + age), row(1, "/other", Duration::from_secs(8)));
        drop(second);
        assert!(metrics.in_flight(start + age).is_empty());
    }

    #[test]
    fn calls_are_counted_by_host_and_result() {
        let registry = MetricsRegistry::default();
        let metrics = metrics(&registry);
        let host = metrics.host("a.b.svc:443").unwrap();
        host.record_call(300, Some((200, 70)), Duration::from_millis(7));
        host.record_call(300, Some((418, 10)), Duration::from_millis(7));
        host.record_call(300, None, Duration::from_secs(90));
        metrics.host("never.called:443");
        let page = registry.to_string();
        for line in [
            "rest_client_requests_total{code=\"200\",host=\"a.b.svc:443\",method=\"POST\"} 1\n",
            "rest_client_requests_total{code=\"400\",host=\"a.b.svc:443\",method=\"POST\"} 1\n",
            "rest_client_requests_total{code=\"<error>\",host=\"a.b.svc:443\",method=\"POST\"} 1\n",
            "rest_client_request_duration_seconds_bucket{host=\"a.b.svc:443\",verb=\"POST\",le=\"60\"} 2\n",
            "rest_client_request_size_bytes_bucket{host=\"a.b.svc:443\",verb=\"POST\",le=\"512\"} 3\n",
            "rest_client_response_size_bytes_count{host=\"a.b.svc:443\",verb=\"POST\"} 2\n",
        ] {
            assert!(page.contains(line), "no {line} in {page}");
        }
        assert!(!page.contains("never"), "{page}");
    }

    #[test]
    fn hosts_are_bounded() {
        let registry = MetricsRegistry::default();
        let metrics = metrics(&registry);
        let host_count = (0..=HOSTS_MAX).filter_map(|n| metrics.host(&format!("h{n}:1"))).count();
        assert_eq!(host_count, HOSTS_MAX);
        assert!(metrics.host("h0:1").is_some());
    }
}
