//! Limits on concurrent requests without priority and fairness (apiserver `server/filters/maxinflight.go`).

use std::sync::Arc;

use tokio::sync::Semaphore;

use apimachinery::request_info::RequestInfo;
use apimachinery::user_info::{GROUP_MASTERS, UserInfo};

use crate::limits::concurrency::ConcurrencyGuard;

/// Limits on requests that are not long-running. 0 means no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InflightLimits {
    /// `--max-requests-inflight`: limit for `get` and `list`.
    pub reading_max: usize,
    /// `--max-mutating-requests-inflight`: limit for all other requests.
    pub mutating_max: usize,
}

impl Default for InflightLimits {
    fn default() -> Self {
        InflightLimits { reading_max: 400, mutating_max: 200 }
    }
}

/// Permits for concurrent requests.
pub(crate) struct Inflight {
    limits: InflightLimits,
    reading: Arc<Semaphore>,
    mutating: Arc<Semaphore>,
}

impl Inflight {
    pub(crate) fn new(limits: InflightLimits) -> Self {
        let semaphore = |max: usize| Arc::new(Semaphore::new(max.min(Semaphore::MAX_PERMITS)));
        Inflight { limits, reading: semaphore(limits.reading_max), mutating: semaphore(limits.mutating_max) }
    }

    /// Returns a permit for a request without waiting. Requests of `system:masters` always get one.
    pub(crate) fn acquire(&self, info: &RequestInfo, user: &UserInfo) -> Option<ConcurrencyGuard> {
        let (max, semaphore) = if is_mutating(info) {
            (self.limits.mutating_max, &self.mutating)
        } else {
            (self.limits.reading_max, &self.reading)
        };
        if max == 0 {
            return Some(ConcurrencyGuard::Unlimited);
        }
        match Arc::clone(semaphore).try_acquire_owned() {
            Ok(permit) => Some(ConcurrencyGuard::MaxInFlight(permit)),
            Err(_) => user.in_group(GROUP_MASTERS).then_some(ConcurrencyGuard::Unlimited),
        }
    }

    /// Current numbers of reading and mutating requests with a permit.
    pub(crate) fn current(&self) -> (usize, usize) {
        let used = |max: usize, semaphore: &Semaphore| max.saturating_sub(semaphore.available_permits());
        (used(self.limits.reading_max, &self.reading), used(self.limits.mutating_max, &self.mutating))
    }
}

/// True if a request counts as mutating, which is everything except known reads.
pub(crate) fn is_mutating(info: &RequestInfo) -> bool {
    !matches!(info.verb.as_str(), "get" | "list" | "watch")
}

/// True for a request without a deadline: watches, proxying, streaming subresources, profiles, and the
/// console's stream.
pub(crate) fn is_long_running(info: &RequestInfo) -> bool {
    const SUBRESOURCES: [&str; 5] = ["attach", "exec", "proxy", "log", "portforward"];
    matches!(info.verb.as_str(), "watch" | "proxy")
        || info.is_resource && SUBRESOURCES.contains(&info.subresource.as_str())
        || !info.is_resource
            && (info.path.starts_with("/debug/pprof/") || info.path == "/debug/console/stream")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(verb: &str, subresource: &str) -> RequestInfo {
        let verb = verb.to_owned();
        let subresource = subresource.to_owned();
        RequestInfo { verb, subresource, is_resource: true, ..RequestInfo::default() }
    }

    #[test]
    fn full_limit_rejects_all_but_administrators() {
        let inflight = Inflight::new(InflightLimits { reading_max: 1, mutating_max: 1 });
        let anyone = UserInfo::default();
        let master = UserInfo { groups: vec![GROUP_MASTERS.to_owned()], ..UserInfo::default() };
        let first = inflight.acquire(&info("list", ""), &anyone);
        assert!(first.is_some());
        assert!(inflight.acquire(&info("get", ""), &anyone).is_none());
        assert!(inflight.acquire(&info("get", ""), &master).is_some());
        assert!(inflight.acquire(&info("create", ""), &anyone).is_some());
        assert_eq!(inflight.current(), (1, 0));
        drop(first);
        assert!(inflight.acquire(&info("get", ""), &anyone).is_some());
    }

    #[test]
    fn zero_is_no_limit() {
        let inflight = Inflight::new(InflightLimits { reading_max: 0, mutating_max: 0 });
        let guards: Vec<_> =
            (0..10).map(|_| inflight.acquire(&info("list", ""), &UserInfo::default())).collect();
        assert!(guards.iter().all(Option::is_some));
        assert_eq!(inflight.current(), (0, 0));
    }

    #[test]
    fn streams_are_long_running() {
        let check = |verb: &str, sub: &str, expected: bool| {
            assert_eq!(is_long_running(&info(verb, sub)), expected, "{verb} {sub}")
        };
        check("watch", "", true);
        check("get", "log", true);
        check("create", "exec", true);
        check("list", "", false);
        check("get", "status", false);
        assert!(!is_long_running(&RequestInfo { is_resource: false, ..info("get", "log") }));
        let path = |path: &str| RequestInfo { path: path.to_owned(), is_resource: false, ..info("get", "") };
        assert!(is_long_running(&path("/debug/pprof/profile")));
        assert!(is_long_running(&path("/debug/console/stream")));
        assert!(!is_long_running(&path("/debug/console/state")));
    }
}
