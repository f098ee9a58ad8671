//! Metrics of log requests to kubelets, under upstream's names (`registry/core/pod/rest/metrics.go`).

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use component_base::metrics::{Family, Stability};

const REQUESTS: Family = Family::counter(
    Stability::Alpha,
    "kube_apiserver_pod_logs_insecure_backend_total",
    "Logs that kubelets were asked for, by whether their certificate had to be right.",
);
const FAILURES: Family = Family::counter(
    Stability::Alpha,
    "kube_apiserver_pod_logs_backend_tls_failure_total",
    "Logs that there were none of because the certificate of a kubelet was not right.",
);

#[derive(Debug, Default)]
pub struct LogFigures {
    verified: AtomicU64,
    unverified: AtomicU64,
    failures: AtomicU64,
}

impl LogFigures {
    /// Counts a request to a kubelet. `insecure` means that its certificate is not verified.
    pub(crate) fn asked(&self, insecure: bool) {
        let count = if insecure { &self.unverified } else { &self.verified };
        count.fetch_add(1, Relaxed);
    }

    /// Counts a failed request. Certificate errors have Go's wording.
    pub(crate) fn failed(&self, error: &str) {
        self.failures.fetch_add(error.contains("x509: ").into(), Relaxed);
    }

    /// Appends the metric families.
    pub fn write(&self, out: &mut String) {
        FAILURES.write(out).add(&[], self.failures.load(Relaxed));
        let mut samples = REQUESTS.write(out);
        samples.counted(&[("usage", "enforce_tls")], &self.verified);
        samples.counted(&[("usage", "skip_tls_allowed")], &self.unverified);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_certificate_errors_count_as_tls_failures() {
        let figures = LogFigures::default();
        figures.asked(true);
        figures.failed("dial tcp 127.0.0.1:1: connect: connection refused");
        figures.failed("tls: failed to verify certificate: x509: certificate signed by unknown authority");
        let mut page = String::new();
        figures.write(&mut page);
        assert!(page.contains("_tls_failure_total 1\n"), "{page}");
        assert!(page.contains("_total{usage=\"skip_tls_allowed\"} 1\n"), "{page}");
        assert!(!page.contains("enforce"), "{page}");
    }
}
