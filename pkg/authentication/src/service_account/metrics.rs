//! Metrics of service account tokens, with upstream's names.

use std::sync::Arc;

use component_base::metrics::{Counter, Family, MetricsRegistry, Stability};

use crate::TokenCacheMetrics;

const INVALID: Family<Counter, 0> = Family::counter(
    Stability::Alpha,
    "serviceaccount_invalid_legacy_auto_token_uses_total",
    "Cumulative invalid auto-generated legacy tokens used",
    [],
);
const AUTO: Family<Counter, 0> = Family::counter(
    Stability::Alpha,
    "serviceaccount_legacy_auto_token_uses_total",
    "Cumulative auto-generated legacy tokens used",
    [],
);
const MANUAL: Family<Counter, 0> = Family::counter(
    Stability::Alpha,
    "serviceaccount_legacy_manual_token_uses_total",
    "Cumulative manually created legacy tokens used",
    [],
);
const LEGACY: Family<Counter, 0> = Family::counter(
    Stability::Beta,
    "serviceaccount_legacy_tokens_total",
    "Cumulative legacy service account tokens used",
    [],
);
const STALE: Family<Counter, 0> = Family::counter(
    Stability::Beta,
    "serviceaccount_stale_tokens_total",
    "Cumulative stale projected service account tokens used",
    [],
);
const VALID: Family<Counter, 0> = Family::counter(
    Stability::Beta,
    "serviceaccount_valid_tokens_total",
    "Cumulative valid projected service account tokens used",
    [],
);

#[derive(Debug)]
pub struct TokenMetrics {
    /// Metrics of all token caches.
    pub cache: Arc<TokenCacheMetrics>,
    pub(super) invalid: Counter,
    pub(super) auto: Counter,
    pub(super) manual: Counter,
    pub(super) legacy: Counter,
    pub(super) stale: Counter,
    pub(super) valid: Counter,
}

impl TokenMetrics {
    pub fn new(registry: &MetricsRegistry) -> Self {
        TokenMetrics {
            cache: Arc::new(TokenCacheMetrics::new(registry)),
            invalid: registry.register(&INVALID),
            auto: registry.register(&AUTO),
            manual: registry.register(&MANUAL),
            legacy: registry.register(&LEGACY),
            stale: registry.register(&STALE),
            valid: registry.register(&VALID),
        }
    }
}

/// Metrics that are counted but not exported.
impl Default for TokenMetrics {
    fn default() -> Self {
        TokenMetrics::new(&MetricsRegistry::default())
    }
}
