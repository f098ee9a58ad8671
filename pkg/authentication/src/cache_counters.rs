//! What is counted of remembered tokens, with upstream's names.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What is counted of remembered tokens. A token of this server counts as remembered when its signature is.
#[derive(Debug, Default)]
pub struct CacheCounters {
    hits: AtomicU64,
    misses: AtomicU64,
    judged: AtomicU64,
    failed: AtomicU64,
}

impl CacheCounters {
    /// A token was shown that was or was not remembered.
    pub(crate) fn shown(&self, remembered: bool) {
        if remembered { &self.hits } else { &self.misses }.fetch_add(1, Relaxed);
    }

    /// A token that was not remembered was judged, or could not be.
    pub(crate) fn judged(&self, successfully: bool) {
        if successfully { &self.judged } else { &self.failed }.fetch_add(1, Relaxed);
    }

    /// Appends the families that have something to show.
    pub fn write(&self, out: &mut String) {
        for (name, help, counters) in [
            (
                "authentication_token_cache_request_total",
                "Tokens that were shown, by whether they were remembered.",
                [("hit", &self.hits), ("miss", &self.misses)],
            ),
            (
                "authentication_token_cache_fetch_total",
                "Tokens that were not remembered, by whether they could be judged.",
                [("ok", &self.judged), ("error", &self.failed)],
            ),
        ] {
            let seen = counters.map(|(status, counter)| (status, counter.load(Relaxed)));
            if seen.iter().all(|(_, count)| *count == 0) {
                continue;
            }
            let _ = writeln!(out, "# HELP {name} [ALPHA] {help}\n# TYPE {name} counter");
            for (status, count) in seen.into_iter().filter(|(_, count)| *count > 0) {
                let _ = writeln!(out, "{name}{{status=\"{status}\"}} {count}");
            }
        }
    }
}
