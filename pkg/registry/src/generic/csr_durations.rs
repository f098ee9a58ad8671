//! Metrics of issued certificates whose requests had a duration (upstream's `registry/certificates`).

use component_base::metrics::{Counter, CounterVec, Family, MetricsRegistry, Stability};
use kinds::IssuedDuration;

const REQUESTED: Family<Counter, 1> = Family::counter(
    Stability::Alpha,
    "apiserver_certificates_registry_csr_requested_duration_total",
    "Total number of issued CSRs with a requested duration, sliced by signer (only kubernetes.io signer names are specifically identified)",
    ["signerName"],
);
const HONORED: Family<Counter, 1> = Family::counter(
    Stability::Alpha,
    "apiserver_certificates_registry_csr_honored_duration_total",
    "Total number of issued CSRs with a requested duration that was honored, sliced by signer (only kubernetes.io signer names are specifically identified)",
    ["signerName"],
);

/// Counters of certificate signing requests with a duration, by signer.
#[derive(Debug, Clone)]
pub(super) struct CsrDurations {
    requested: CounterVec<1>,
    honored: CounterVec<1>,
}

impl Default for CsrDurations {
    fn default() -> Self {
        CsrDurations { requested: CounterVec::new(&REQUESTED), honored: CounterVec::new(&HONORED) }
    }
}

impl CsrDurations {
    /// Adds the metrics to the page.
    pub(super) fn register(&self, registry: &MetricsRegistry) {
        registry.register_existing(&self.requested);
        registry.register_existing(&self.honored);
    }

    /// Counts an issued certificate.
    pub(super) fn record(&self, IssuedDuration { signer, honored }: &IssuedDuration) {
        // The number of series is bounded.
        let signer = if signer.starts_with("kubernetes.io/") { signer } else { "other" };
        self.requested.with([signer]).increment();
        if *honored == Some(true) {
            self.honored.with([signer]).increment();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_signers_share_a_series() {
        let registry = MetricsRegistry::default();
        let durations = CsrDurations::default();
        durations.register(&registry);
        for (signer, honored) in [
            ("kubernetes.io/kubelet-serving", Some(true)),
            ("example.com/a", Some(true)),
            ("example.com/b", Some(false)),
            ("example.com/c", None),
        ] {
            durations.record(&IssuedDuration { signer: signer.to_owned(), honored });
        }
        let page = registry.to_string();
        for (name, signer, count) in [
            ("requested", "kubernetes.io/kubelet-serving", 1),
            ("honored", "kubernetes.io/kubelet-serving", 1),
            ("requested", "other", 3),
            ("honored", "other", 1),
        ] {
            let line = format!(
                "apiserver_certificates_registry_csr_{name}_duration_total{{signerName={signer:?}}} {count}\n"
            );
            assert!(page.contains(&line), "no {line} in\n{page}");
        }
    }
}
