//! Metrics of service account tokens, with upstream's names.

use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::CacheCounters;

#[derive(Debug, Default)]
pub struct TokenCounters {
    /// Metrics of all token caches.
    pub cache: Arc<CacheCounters>,
    pub(super) invalid: AtomicU64,
    pub(super) auto: AtomicU64,
    pub(super) manual: AtomicU64,
    pub(super) legacy: AtomicU64,
    pub(super) stale: AtomicU64,
    pub(super) valid: AtomicU64,
}

/// Increments a counter.
pub(super) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Relaxed);
}

impl TokenCounters {
    /// Appends the metrics in the Prometheus text format.
    pub fn write(&self, out: &mut String) {
        self.cache.write(out);
        for (name, help, counter) in [
            (
                "serviceaccount_invalid_legacy_auto_token_uses_total",
                "Uses of tokens of Secrets that are labelled as invalid.",
                &self.invalid,
            ),
            (
                "serviceaccount_legacy_auto_token_uses_total",
                "Uses of tokens of Secrets that service accounts list.",
                &self.auto,
            ),
            (
                "serviceaccount_legacy_manual_token_uses_total",
                "Uses of tokens of Secrets that somebody made.",
                &self.manual,
            ),
            ("serviceaccount_legacy_tokens_total", "Uses of tokens of Secrets.", &self.legacy),
            (
                "serviceaccount_stale_tokens_total",
                "Uses of tokens whose holders should have read a new one.",
                &self.stale,
            ),
            (
                "serviceaccount_valid_tokens_total",
                "Uses of tokens that live longer than they say, in the time that they say.",
                &self.valid,
            ),
        ] {
            let count = counter.load(Relaxed);
            let _ = writeln!(out, "# HELP {name} [ALPHA] {help}\n# TYPE {name} counter\n{name} {count}");
        }
    }
}
