//! The controller's own lease, held and renewed like in client-go's `leaderelection`, so that servers of both
//! implementations can alternate.

use std::sync::Arc;
use std::time::Duration;

use api::tree;
use apimachinery::time::UnixTime;
use jsontree::{Value, json};
use schema::object::{self, Object};
use tokio::time::Instant;

use super::NAME;
use super::metrics::LeaderElectionMetrics;
use crate::desired_state::object;
use crate::loopback_client::{LoopbackClient, RequestError};

/// Path of the Leases in `kube-system`.
const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
/// Path of this lease.
const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/leader-election-controller";
const NAMESPACE: &str = "kube-system";

/// State of the lease in this server.
pub(super) struct Lock {
    client: LoopbackClient,
    /// Identity of this server.
    identity: String,
    duration: Duration,
    /// The last observed or written lease, and the local time since which it has not changed. Clocks of other
    /// servers are not used.
    observed: Option<(Object, Instant)>,
    metrics: Arc<LeaderElectionMetrics>,
}

impl Lock {
    /// Creates the lock for an identity and a lease duration.
    pub(super) fn new(
        client: LoopbackClient,
        identity: String,
        duration: Duration,
        metrics: Arc<LeaderElectionMetrics>,
    ) -> Self {
        Lock { client, identity, duration, observed: None, metrics }
    }

    /// Acquires or renews the lease. Returns true if this server holds it.
    ///
    /// # Errors
    /// A failed read or write.
    pub(super) async fn try_acquire_or_renew(&mut self, now: UnixTime) -> Result<bool, RequestError> {
        if let Some((lease, since)) = &self.observed
            && holder(lease) == self.identity
            && is_valid(lease, *since, Instant::now())
            && let Ok(written) = self.client.update(LEASE, &self.lease_held_by_self(Some(lease), now)).await
        {
            self.observe(written);
            return Ok(true);
        }
        let current = self.client.get(LEASE).await?;
        if let Some(current) = current {
            self.observe(current);
        } else {
            let created = self.client.create(LEASES, &self.lease_held_by_self(None, now)).await?;
            self.observe(created);
            return Ok(true);
        }
        let Some((lease, since)) = &self.observed else { return Ok(false) };
        let holder = holder(lease);
        if !holder.is_empty() && holder != self.identity && is_valid(lease, *since, Instant::now()) {
            return Ok(false);
        }
        if holder == self.identity {
            self.metrics.record_slow_path();
        }
        let written = self.client.update(LEASE, &self.lease_held_by_self(Some(lease), now)).await?;
        self.observe(written);
        Ok(true)
    }

    /// Releases the lease, if this server holds it.
    ///
    /// # Errors
    /// A failed read or write.
    pub(super) async fn release(&mut self, now: UnixTime) -> Result<(), RequestError> {
        let Some(lease) = self.client.get(LEASE).await? else { return Ok(()) };
        if holder(&lease) == self.identity {
            let released = self.client.update(LEASE, &released_lease(&lease, now)).await?;
            self.observe(released);
        }
        Ok(())
    }

    fn observe(&mut self, lease: Object) {
        let unchanged =
            self.observed.as_ref().is_some_and(|(before, _)| before.get("spec") == lease.get("spec"));
        let since = self.observed.take().map(|(_, since)| since).filter(|_| unchanged);
        self.observed = Some((lease, since.unwrap_or_else(Instant::now)));
    }

    /// Builds the lease with this server as holder.
    fn lease_held_by_self(&self, current: Option<&Object>, now: UnixTime) -> Object {
        acquired_lease(current, &self.identity, self.duration, now)
    }
}

fn acquired_lease(current: Option<&Object>, identity: &str, duration: Duration, now: UnixTime) -> Object {
    let now = now.rfc3339_micro().to_string();
    let before = current.and_then(|lease| tree::child(lease, "spec"));
    let transitions = before.map_or(0, |spec| tree::integer(spec, "leaseTransitions"));
    let (acquired, transitions) = match before.filter(|_| current.map(holder) == Some(identity)) {
        Some(spec) => (tree::text(spec, "acquireTime").to_owned(), transitions),
        None => (now.clone(), transitions.saturating_add(i64::from(current.is_some()))),
    };
    let spec = json!({
        "holderIdentity": identity,
        "leaseDurationSeconds": duration.as_secs(),
        "acquireTime": acquired,
        "renewTime": now,
        "leaseTransitions": transitions,
    });
    with_spec(current, spec)
}

/// Builds the lease without a holder. It contains the time of the release.
fn released_lease(current: &Object, now: UnixTime) -> Object {
    let now = now.rfc3339_micro().to_string();
    let transitions = object::get_i64(current, &["spec", "leaseTransitions"]).unwrap_or(0);
    let spec = json!({
        "holderIdentity": "",
        "leaseDurationSeconds": 1,
        "acquireTime": now,
        "renewTime": now,
        "leaseTransitions": transitions,
    });
    with_spec(Some(current), spec)
}

fn with_spec(current: Option<&Object>, spec: Value) -> Object {
    let new = || {
        object(json!({
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": NAME, "namespace": NAMESPACE},
        }))
    };
    let mut lease = current.cloned().unwrap_or_else(new);
    lease.insert("spec", spec);
    lease
}

fn holder(lease: &Object) -> &str {
    object::get_str(lease, &["spec", "holderIdentity"]).unwrap_or_default()
}

/// True if the lease has not expired since it was observed at `since`.
fn is_valid(lease: &Object, since: Instant, now: Instant) -> bool {
    let seconds = object::get_i64(lease, &["spec", "leaseDurationSeconds"]).unwrap_or(0);
    now < since + Duration::from_secs(u64::try_from(seconds).unwrap_or(0))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const AT: UnixTime = UnixTime { seconds: 60, nanos: 1_000 };

    fn spec(lease: &Object) -> Value {
        lease.get("spec").unwrap().clone()
    }

    #[test]
    fn lease_counts_transitions_and_has_acquire_time() {
        let first = acquired_lease(None, "a", Duration::from_secs(15), UnixTime::from_seconds(0));
        let expected = |holder: &str, acquired: &str, renewed: &str, transitions: i64| {
            json!({
                "holderIdentity": holder, "leaseDurationSeconds": 15, "acquireTime": acquired,
                "renewTime": renewed, "leaseTransitions": transitions,
            })
        };
        let begin = "1970-01-01T00:00:00.000000Z";
        let later = "1970-01-01T00:01:00.000001Z";
        assert_eq!(spec(&first), expected("a", begin, begin, 0));
        let renewed = acquired_lease(Some(&first), "a", Duration::from_secs(15), AT);
        assert_eq!(spec(&renewed), expected("a", begin, later, 0));
        let reacquired = acquired_lease(Some(&first), "b", Duration::from_secs(15), AT);
        assert_eq!(spec(&reacquired), expected("b", later, later, 1));
        let released = released_lease(&reacquired, AT);
        assert_eq!(holder(&released), "");
        assert_eq!(object::get_i64(&released, &["spec", "leaseTransitions"]), Some(1));
    }

    #[tokio::test(start_paused = true)]
    async fn lease_is_valid_from_observation() {
        let since = Instant::now();
        let lease = acquired_lease(None, "a", Duration::from_secs(15), UnixTime::from_seconds(0));
        assert!(is_valid(&lease, since, since + Duration::from_millis(14_999)));
        assert!(!is_valid(&lease, since, since + Duration::from_secs(15)));
        assert!(!is_valid(&Object::new(), since, since));
    }
}
