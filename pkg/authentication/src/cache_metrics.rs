//! Metrics of the token cache, with upstream's names.

use component_base::metrics::{Counter, Family, Gauge, Histogram, MetricsRegistry, Stability, buckets};
use tokio::time::Instant;

const ACTIVE: Family<Gauge, 1> =
    Family::gauge(Stability::Alpha, "authentication_token_cache_active_fetch_count", "", ["status"]);
const FETCHES: Family<Counter, 1> =
    Family::counter(Stability::Alpha, "authentication_token_cache_fetch_total", "", ["status"]);
const SECONDS: Family<Histogram, 1> = Family::histogram(
    Stability::Alpha,
    "authentication_token_cache_request_duration_seconds",
    "",
    ["status"],
    &buckets::DEFAULT_SECONDS,
);
const REQUESTS: Family<Counter, 1> =
    Family::counter(Stability::Alpha, "authentication_token_cache_request_total", "", ["status"]);

/// Metrics of the token cache. A token of this server counts as a hit if its verified signature is cached.
#[derive(Debug)]
pub struct TokenCacheMetrics {
    hits: Histogram,
    misses: Histogram,
    succeeded: Counter,
    failed: Counter,
    /// Number of callers that wait for a result.
    blocked: Gauge,
    /// Number of tokens in authentication.
    in_flight: Gauge,
}

/// Guard for a caller with a cache miss. Records the duration on drop.
pub(crate) struct CacheMissGuard<'a> {
    metrics: &'a TokenCacheMetrics,
    started_at: Instant,
}

impl Drop for CacheMissGuard<'_> {
    fn drop(&mut self) {
        self.metrics.blocked.add(-1);
        self.metrics.misses.observe_duration(self.started_at.elapsed());
    }
}

/// Guard for a token in authentication.
pub(crate) struct AuthenticationGuard<'a>(&'a TokenCacheMetrics);

impl AuthenticationGuard<'_> {
    /// Records the end of the authentication; `successfully` is false for an error.
    pub(crate) fn finish(self, successfully: bool) {
        let TokenCacheMetrics { succeeded, failed, .. } = self.0;
        if successfully { succeeded } else { failed }.increment();
    }
}

impl Drop for AuthenticationGuard<'_> {
    fn drop(&mut self) {
        self.0.in_flight.add(-1);
    }
}

impl TokenCacheMetrics {
    pub fn new(registry: &MetricsRegistry) -> Self {
        let seconds = registry.register_vec(&SECONDS);
        registry.register_counts(&REQUESTS, &seconds);
        let fetches = registry.register_vec(&FETCHES);
        let active = registry.register_vec(&ACTIVE);
        TokenCacheMetrics {
            hits: seconds.with(["hit"]),
            misses: seconds.with(["miss"]),
            succeeded: fetches.with(["ok"]),
            failed: fetches.with(["error"]),
            blocked: active.with(["blocked"]),
            in_flight: active.with(["in_flight"]),
        }
    }

    pub(crate) fn hit(&self, start: Instant) {
        self.hits.observe_duration(start.elapsed());
    }

    pub(crate) fn miss(&self, started_at: Instant) -> CacheMissGuard<'_> {
        self.blocked.add(1);
        CacheMissGuard { metrics: self, started_at }
    }

    /// Records the start of an authentication.
    pub(crate) fn begin_authentication(&self) -> AuthenticationGuard<'_> {
        self.in_flight.add(1);
        AuthenticationGuard(self)
    }
}

/// Metrics that are counted but not exported.
impl Default for TokenCacheMetrics {
    fn default() -> Self {
        TokenCacheMetrics::new(&MetricsRegistry::default())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn gauges_count_waiters_and_tokens() {
        let registry = MetricsRegistry::default();
        let metrics = TokenCacheMetrics::new(&registry);
        let page = || registry.to_string();
        assert_eq!(page().lines().filter(|line| !line.starts_with('#') && !line.ends_with(" 0")).count(), 0);
        let missing = metrics.miss(Instant::now());
        let judging = metrics.begin_authentication();
        assert!(page().contains("count{status=\"blocked\"} 1\n"), "{}", page());
        assert!(page().contains("count{status=\"in_flight\"} 1\n"), "{}", page());
        tokio::time::advance(Duration::from_millis(30)).await;
        judging.finish(true);
        drop(missing);
        metrics.hit(Instant::now());
        for line in [
            "count{status=\"blocked\"} 0\n",
            "request_total{status=\"hit\"} 1\n",
            "request_total{status=\"miss\"} 1\n",
            "fetch_total{status=\"ok\"} 1\n",
            "seconds_bucket{status=\"miss\",le=\"0.025\"} 0\n",
            "seconds_sum{status=\"miss\"} 0.03\n",
        ] {
            assert!(page().contains(line), "{line}: {}", page());
        }
    }
}
