//! Metrics of the token cache, with upstream's names.

use std::fmt::Write;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use component_base::metrics::Histogram;
use tokio::time::Instant;

/// Upper bounds of the duration buckets, as text and in milliseconds.
const BOUNDS: [(&str, u64); 11] = [
    ("0.005", 5),
    ("0.01", 10),
    ("0.025", 25),
    ("0.05", 50),
    ("0.1", 100),
    ("0.25", 250),
    ("0.5", 500),
    ("1", 1_000),
    ("2.5", 2_500),
    ("5", 5_000),
    ("10", 10_000),
];
const STATUSES: [&str; 2] = ["hit", "miss"];

/// Metrics of the token cache. A token of this server counts as a hit if its verified signature is cached.
#[derive(Debug, Default)]
pub struct CacheCounters {
    /// Durations of authentication: hits, and misses.
    durations: [Histogram<11>; 2],
    judged: AtomicU64,
    failed: AtomicU64,
    /// Number of callers that wait for a result.
    blocked: AtomicI64,
    /// Number of tokens in authentication.
    in_flight: AtomicI64,
}

/// Guard for a caller with a cache miss. Records the duration on drop.
pub(crate) struct CacheMissGuard<'a> {
    counters: &'a CacheCounters,
    began: Instant,
}

impl Drop for CacheMissGuard<'_> {
    fn drop(&mut self) {
        self.counters.blocked.fetch_sub(1, Relaxed);
        self.counters.took(1, self.began.elapsed());
    }
}

/// Guard for a token in authentication.
pub(crate) struct AuthenticationGuard<'a>(&'a CacheCounters);

impl AuthenticationGuard<'_> {
    /// Records the end of the authentication; `successfully` is false for an error.
    pub(crate) fn ended(self, successfully: bool) {
        let CacheCounters { judged, failed, .. } = self.0;
        if successfully { judged } else { failed }.fetch_add(1, Relaxed);
    }
}

impl Drop for AuthenticationGuard<'_> {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Relaxed);
    }
}

impl CacheCounters {
    pub(crate) fn hit(&self, began: Instant) {
        self.took(0, began.elapsed());
    }

    pub(crate) fn miss(&self, began: Instant) -> CacheMissGuard<'_> {
        self.blocked.fetch_add(1, Relaxed);
        CacheMissGuard { counters: self, began }
    }

    /// Records the start of an authentication.
    pub(crate) fn judge(&self) -> AuthenticationGuard<'_> {
        self.in_flight.fetch_add(1, Relaxed);
        AuthenticationGuard(self)
    }

    fn took(&self, status: usize, time: Duration) {
        let millis = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        self.durations.get(status).inspect(|durations| durations.observe(&BOUNDS, millis, millis));
    }

    /// Appends the non-empty metrics in the Prometheus text format.
    pub fn write(&self, out: &mut String) {
        let [hits, misses] = &self.durations;
        let (hits, misses) = (hits.count(), misses.count());
        let count = |counter: &AtomicU64| counter.load(Relaxed);
        for (name, help, counters) in [
            (
                "authentication_token_cache_request_total",
                "Tokens that were shown, by whether they were remembered.",
                [("hit", hits), ("miss", misses)],
            ),
            (
                "authentication_token_cache_fetch_total",
                "Tokens that were not remembered, by whether they could be judged.",
                [("ok", count(&self.judged)), ("error", count(&self.failed))],
            ),
        ] {
            if counters.iter().all(|(_, count)| *count == 0) {
                continue;
            }
            let _ = writeln!(out, "# HELP {name} [ALPHA] {help}\n# TYPE {name} counter");
            for (status, count) in counters.into_iter().filter(|(_, count)| *count > 0) {
                let _ = writeln!(out, "{name}{{status=\"{status}\"}} {count}");
            }
        }
        let (blocked, in_flight) = (self.blocked.load(Relaxed), self.in_flight.load(Relaxed));
        let seen = hits > 0 || misses > 0 || blocked != 0 || in_flight != 0;
        if !seen {
            return;
        }
        let name = "authentication_token_cache_active_fetch_count";
        let _ = writeln!(
            out,
            "# HELP {name} [ALPHA] Tokens that are being judged, and who waits for that.\n# TYPE {name} gauge\n\
             {name}{{status=\"blocked\"}} {blocked}\n{name}{{status=\"in_flight\"}} {in_flight}"
        );
        let name = "authentication_token_cache_request_duration_seconds";
        let help = "How long it took to say whom a token stands for, by whether it was remembered.";
        let _ = writeln!(out, "# HELP {name} [ALPHA] {help}\n# TYPE {name} histogram");
        for (status, durations) in STATUSES.iter().zip(&self.durations) {
            if !durations.is_empty() {
                durations.write(out, name, &format!("status=\"{status}\""), 0, &BOUNDS, 1e3);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn gauges_count_waiters_and_tokens() {
        let counters = CacheCounters::default();
        let page = || {
            let mut page = String::new();
            counters.write(&mut page);
            page
        };
        assert_eq!(page(), "");
        let (missing, judging) = (counters.miss(Instant::now()), counters.judge());
        assert!(page().contains("count{status=\"blocked\"} 1\n"), "{}", page());
        assert!(page().contains("count{status=\"in_flight\"} 1\n"), "{}", page());
        tokio::time::advance(Duration::from_millis(30)).await;
        judging.ended(true);
        drop(missing);
        counters.hit(Instant::now());
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
