//! Metrics of log requests to kubelets, under upstream's names (`registry/core/pod/rest/metrics.go`).

use component_base::metrics::{Counter, Family, MetricsRegistry, Stability};

const REQUESTS: Family<Counter, 1> = Family::counter(
    Stability::Alpha,
    "kube_apiserver_pod_logs_insecure_backend_total",
    "Total number of requests for pods/logs sliced by usage type: enforce_tls, skip_tls_allowed, skip_tls_denied",
    ["usage"],
);
const FAILURES: Family<Counter, 0> = Family::counter(
    Stability::Alpha,
    "kube_apiserver_pod_logs_backend_tls_failure_total",
    "Total number of requests for pods/logs that failed due to kubelet server TLS verification",
    [],
);

#[derive(Debug)]
pub struct LogMetrics {
    verified: Counter,
    unverified: Counter,
    failures: Counter,
}

impl LogMetrics {
    pub fn new(registry: &MetricsRegistry) -> Self {
        let requests = registry.register_vec(&REQUESTS);
        LogMetrics {
            verified: requests.with(["enforce_tls"]),
            unverified: requests.with(["skip_tls_allowed"]),
            failures: registry.register(&FAILURES),
        }
    }

    /// Counts a request to a kubelet. `insecure` means that its certificate is not verified.
    pub(crate) fn record_request(&self, insecure: bool) {
        let count = if insecure { &self.unverified } else { &self.verified };
        count.increment();
    }

    /// Counts a failed request. Certificate errors have Go's wording.
    pub(crate) fn failed(&self, error: &str) {
        self.failures.add(error.contains("x509: ").into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_certificate_errors_count_as_tls_failures() {
        let registry = MetricsRegistry::default();
        let metrics = LogMetrics::new(&registry);
        metrics.record_request(true);
        metrics.failed("dial tcp 127.0.0.1:1: connect: connection refused");
        metrics.failed("tls: failed to verify certificate: x509: certificate signed by unknown authority");
        let page = registry.to_string();
        assert!(page.contains("_tls_failure_total 1\n"), "{page}");
        assert!(page.contains("_total{usage=\"skip_tls_allowed\"} 1\n"), "{page}");
        assert!(!page.contains("usage=\"enforce_tls\""), "{page}");
    }
}
