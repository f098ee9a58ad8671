//! The ConfigMap `kube-system/kube-apiserver-legacy-service-account-token-tracking`. It contains the date
//! since which all servers record the use of legacy tokens on their Secrets (upstream's
//! `controller/legacytokentracking`). The cleanup of unused Secrets trusts these records from that date on.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use api::tree;
use apimachinery::time::{UnixTime, parse_time};
use jsontree::json;
use registry::Registry;
use registry::client::{Client, ReadFreshness};
use schema::object::Object;
use tokio::time::Instant;

use crate::desired_state::object;
use crate::error::Error;
use crate::hook::PostStartHook;
use crate::tasks::{FirstRound, Schedule, Tasks};

const NAMESPACE: &str = "kube-system";
const NAME: &str = "kube-apiserver-legacy-service-account-token-tracking";
const SINCE: &str = "since";
const DESCRIPTION: &str = "legacy token tracking";
/// Interval of checks.
const PERIOD: Duration = Duration::from_secs(60);
/// Minimum interval between creations. It limits conflicts with servers that remove the ConfigMap.
const CREATE_INTERVAL: Duration = Duration::from_secs(30 * 60);

/// Reconciles the ConfigMap.
pub struct LegacyTokenTracking {
    client: Client,
    created_at: Mutex<Option<Instant>>,
}

impl LegacyTokenTracking {
    /// # Errors
    /// ConfigMaps are not served.
    pub fn new(registry: &Registry) -> Result<Self, Error> {
        Ok(LegacyTokenTracking {
            client: Client::find(registry, "", "configmaps")?,
            created_at: Mutex::default(),
        })
    }

    /// Starts the reconciliation. The server becomes ready without waiting for it.
    pub fn hook(self, tasks: &Tasks) -> PostStartHook {
        let tasks = tasks.clone();
        let tracking = Arc::new(self);
        let work = Box::pin(async move {
            let rounds = Schedule { name: DESCRIPTION, period: PERIOD, jitter: 0.1, first: FirstRound::Now };
            tasks.spawn(rounds, move || {
                let tracking = Arc::clone(&tracking);
                async move { tracking.sync().await }
            });
            Ok(())
        });
        PostStartHook { name: "start-legacy-token-tracking-controller", work }
    }

    async fn sync(&self) -> Result<(), Error> {
        let current = self.client.get(NAMESPACE, NAME, ReadFreshness::Cached).await?;
        let recently = |created_at: Instant| created_at.elapsed() < CREATE_INTERVAL;
        let created_at = *self.created_at.lock().unwrap_or_else(PoisonError::into_inner);
        if current.is_none() && created_at.is_some_and(recently) {
            return Ok(());
        }
        let now = self.client.now();
        let result = self.client.reconcile(NAMESPACE, NAME, &|current| desired_object(current, now)).await;
        result?;
        if current.is_none() {
            *self.created_at.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        }
        Ok(())
    }
}

/// Returns the desired ConfigMap; `None` if it already contains a date.
fn desired_object(current: Option<&Object>, now: UnixTime) -> Option<Object> {
    let since = current.and_then(|object| tree::child(object, "data")).map(|data| tree::text(data, SINCE));
    if since.is_some_and(is_date) {
        return None;
    }
    let mut desired = match current {
        Some(current) => current.clone(),
        None => object(json!({"metadata": {"name": NAME, "namespace": NAMESPACE}})),
    };
    let mut data = tree::child(&desired, "data").cloned().unwrap_or_default();
    data.insert(SINCE.to_owned(), json!(day(now)));
    desired.insert("data", json!(data));
    Some(desired)
}

/// Returns the day of a time as `2006-01-02`.
pub fn day(time: UnixTime) -> String {
    time.rfc3339().to_string().chars().take(10).collect()
}

fn is_date(text: &str) -> bool {
    text.len() == 10 && parse_time(&format!("{text}T00:00:00Z")).is_ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn only_valid_date_is_kept() {
        let now = UnixTime { seconds: 86_400, nanos: 0 };
        let check = |data: Option<jsontree::Value>, expected: Option<&str>| {
            let current = data.map(|data| object(json!({"metadata": {"name": NAME}, "data": data})));
            let desired = desired_object(current.as_ref(), now);
            let since =
                desired.as_ref().map(|desired| tree::text(tree::child(desired, "data").unwrap(), SINCE));
            assert_eq!(since, expected);
        };
        check(None, Some("1970-01-02"));
        check(Some(json!({})), Some("1970-01-02"));
        check(Some(json!({"since": "yesterday"})), Some("1970-01-02"));
        check(Some(json!({"since": "2023-02-30"})), Some("1970-01-02"));
        check(Some(json!({"since": "2023-02-28"})), None);
    }
}
