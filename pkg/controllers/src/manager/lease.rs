//! The lease of kube-controller-manager. While another process holds and renews it, the built-in controllers
//! stop.

use std::time::Duration;

use api::tree;
use apimachinery::time::{UnixTime, parse_time};
use schema::object::Object;
use tokio::time::Instant;

/// Namespace and name of the lease (upstream's default resource lock).
pub(super) const NAMESPACE: &str = "kube-system";
pub(super) const NAME: &str = "kube-controller-manager";
/// Longest trusted duration of the lease. Upstream's default is 15 seconds.
const DURATION_MAX: Duration = Duration::from_secs(600);

/// Time of an observation, by both clocks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Now {
    pub(super) unix: UnixTime,
    pub(super) instant: Instant,
}

/// State of the lease.
#[derive(Debug, Default)]
pub(super) struct ManagerLease {
    /// Last observed `spec.renewTime`.
    renewed: Option<String>,
    /// Time until which the lease is held.
    held_until: Option<Instant>,
}

impl ManagerLease {
    /// Applies the current state of the lease. A renewal that happened while this server was watching counts
    /// from its observation, whatever the holder's clock. The first state may be old and counts by its
    /// `renewTime`.
    pub(super) fn observe(&mut self, lease: Option<&Object>, now: Now) {
        let spec = lease.and_then(|lease| tree::child(lease, "spec"));
        let spec = spec.filter(|spec| !tree::text(spec, "holderIdentity").is_empty());
        let Some(spec) = spec else {
            self.held_until = None;
            self.renewed = Some(String::new());
            return;
        };
        let seconds = u64::try_from(tree::integer(spec, "leaseDurationSeconds")).unwrap_or_default();
        let duration = Duration::from_secs(seconds).min(DURATION_MAX);
        let renewed = tree::text(spec, "renewTime");
        if self.renewed.as_deref() == Some(renewed) {
            return;
        }
        let age = match &self.renewed {
            Some(_) => Duration::ZERO,
            None => age(renewed, now.unix).unwrap_or(duration),
        };
        self.renewed = Some(renewed.to_owned());
        self.held_until = duration.checked_sub(age).map(|rest| now.instant + rest);
    }

    /// Returns the time until which the lease is held; `None` if it is not.
    pub(super) fn held_until(&self, now: Instant) -> Option<Instant> {
        self.held_until.filter(|until| *until > now)
    }
}

/// Returns the age of a time; zero for one in the future.
fn age(renewed: &str, now: UnixTime) -> Option<Duration> {
    let renewed = parse_time(renewed).ok()?;
    let seconds = now.seconds.saturating_sub(renewed.seconds);
    Some(Duration::from_secs(u64::try_from(seconds).unwrap_or_default()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use jsontree::json;

    use super::*;
    use crate::desired_state::object;

    const START: i64 = 1_735_689_600;

    fn lease(holder: &str, renewed: i64) -> Object {
        let renewed = UnixTime::from_seconds(renewed).rfc3339().to_string();
        object(json!({"spec": {
            "holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": renewed,
        }}))
    }

    /// Returns the seconds for which the lease is held after an observation at second `at`.
    fn held(state: &mut ManagerLease, begin: Instant, lease: Option<&Object>, at: u64) -> Option<u64> {
        let instant = begin + Duration::from_secs(at);
        let unix = UnixTime::from_seconds(START + i64::try_from(at).unwrap());
        state.observe(lease, Now { unix, instant });
        state.held_until(instant).map(|until| (until - instant).as_secs())
    }

    #[test]
    fn renewals_hold_the_lease() {
        let begin = Instant::now();
        let mut state = ManagerLease::default();
        assert_eq!(held(&mut state, begin, Some(&lease("m", START)), 0), Some(15));
        assert_eq!(held(&mut state, begin, Some(&lease("m", START)), 5), Some(10), "not renewed");
        assert_eq!(held(&mut state, begin, Some(&lease("m", START + 10)), 10), Some(15));
        assert_eq!(state.held_until(begin + Duration::from_secs(25)), None, "expired");
    }

    #[test]
    fn old_lease_is_not_held_at_start() {
        let mut state = ManagerLease::default();
        assert_eq!(held(&mut state, Instant::now(), Some(&lease("m", START - 60)), 0), None);
    }

    #[test]
    fn holder_with_wrong_clock_is_respected() {
        let begin = Instant::now();
        let mut state = ManagerLease::default();
        assert_eq!(held(&mut state, begin, Some(&lease("m", START - 3600)), 0), None);
        assert_eq!(held(&mut state, begin, Some(&lease("m", START - 3590)), 10), Some(15));
        let mut ahead = ManagerLease::default();
        assert_eq!(held(&mut ahead, begin, Some(&lease("m", START + 3600)), 0), Some(15));
    }

    #[test]
    fn released_or_deleted_lease_is_free() {
        let begin = Instant::now();
        let mut state = ManagerLease::default();
        held(&mut state, begin, Some(&lease("m", START)), 0);
        assert_eq!(held(&mut state, begin, Some(&lease("", START + 1)), 1), None);
        assert_eq!(held(&mut state, begin, Some(&lease("n", START + 2)), 2), Some(15));
        assert_eq!(held(&mut state, begin, None, 3), None);
    }
}
