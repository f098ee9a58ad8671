//! The ServiceCIDR `kubernetes` with the ranges of `--service-cluster-ip-range` (KEP-1880, upstream's
//! `controller/defaultservicecidr`).
//!
//! It is created if missing, and gets a second family if it has only the first one. Other differences are
//! only reported, because servers may have different flags.

use std::sync::Arc;
use std::time::Duration;

use api::tree;
use jsontree::{Value, json};
use registry::{Client, Registry, meta};
use schema::object::{self, Object};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::cidr::Cidr;
use crate::desired_state::object;
use crate::error::Error;
use crate::hook::PostStartHook;
use crate::tasks::{FirstRound, RetryLimits, Schedule, Tasks, until_done};

const GROUP: &str = "networking.k8s.io";
const NAME: &str = "kubernetes";
/// Field manager of the condition.
const FIELD_MANAGER: &str = "kubernetes-service-cidr-controller";
const DESCRIPTION: &str = "default ServiceCIDR";
/// Interval of checks.
const PERIOD: Duration = Duration::from_secs(10);
/// Retry interval and deadline at start. Services get no addresses without the object, so upstream waits
/// forever; a wait longer than this is an outage.
const AT_START: RetryLimits =
    RetryLimits { pause: Duration::from_millis(100), max: Duration::from_secs(3600) };

/// Reconciles the object.
pub struct DefaultServiceCidr {
    cidrs: Vec<String>,
    client: Client,
    status: Client,
    /// True after a difference or a not-ready condition was logged.
    reported: AtomicBool,
}

/// Required action for the `Ready` condition.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    /// None.
    UpToDate,
    /// The condition must be set.
    SetReady,
    /// The object has ranges other than the flag's.
    Differs,
    /// The condition is explicitly false.
    NotReady,
}

impl DefaultServiceCidr {
    /// Creates the reconciler for these ranges, the primary one first.
    ///
    /// # Errors
    /// ServiceCIDRs are not served.
    pub fn new(cidrs: &[Cidr], registry: &Registry) -> Result<Self, Error> {
        Ok(DefaultServiceCidr {
            cidrs: cidrs.iter().map(Cidr::to_string).collect(),
            client: Client::find(registry, GROUP, "servicecidrs")?,
            status: Client::find(registry, GROUP, "servicecidrs")?
                .with_subresource("status")?
                .with_field_manager(FIELD_MANAGER),
            reported: AtomicBool::new(false),
        })
    }

    /// Creates the object at start and keeps reconciling it.
    pub fn hook(self: Arc<Self>, tasks: &Tasks) -> PostStartHook {
        let tasks = tasks.clone();
        let round = move || {
            let cidr = Arc::clone(&self);
            async move { cidr.sync().await }
        };
        let work = Box::pin(async move {
            until_done(DESCRIPTION, AT_START, round.clone()).await?;
            tasks.spawn(
                Schedule { name: DESCRIPTION, period: PERIOD, jitter: 0.1, first: FirstRound::AfterPeriod },
                round,
            );
            Ok(())
        });
        PostStartHook { name: "start-kubernetes-service-cidr-controller", work }
    }

    async fn sync(&self) -> Result<(), Error> {
        let desired = |current: Option<&Object>| desired_object(current, &self.cidrs);
        let reconciled = self.client.reconcile("", NAME, &desired).await?;
        let Some(current) = reconciled.object else { return Ok(()) };
        let had = tree::child(&current, "spec").map(|spec| tree::texts(spec, "cidrs").collect::<Vec<_>>());
        match verdict(&current, &self.cidrs) {
            Verdict::UpToDate => self.reported.store(false, Relaxed),
            Verdict::SetReady => {
                let configuration = ready(&self.client.now().rfc3339().to_string());
                let applied = self.status.apply("", NAME, &configuration).await;
                applied?;
            }
            Verdict::Differs if !self.reported.swap(true, Relaxed) => tracing::warn!(
                ?had,
                flag = ?self.cidrs,
                "the default ServiceCIDR does not match --service-cluster-ip-range"
            ),
            Verdict::NotReady if !self.reported.swap(true, Relaxed) => {
                tracing::warn!("the default ServiceCIDR matches --service-cluster-ip-range but is not ready");
            }
            Verdict::Differs | Verdict::NotReady => {}
        }
        Ok(())
    }
}

/// Returns the desired object: existing, and with two families if the server has two.
fn desired_object(current: Option<&Object>, cidrs: &[String]) -> Option<Object> {
    let Some(current) = current else {
        return Some(object(json!({"metadata": {"name": NAME}, "spec": {"cidrs": cidrs}})));
    };
    let grows = match object::get_list(current, &["spec", "cidrs"]) {
        [only] => cidrs.len() == 2 && cidrs.first().map(String::as_str) == only.as_str(),
        _ => false,
    };
    grows.then(|| {
        let mut grown = current.clone();
        object::set(&mut grown, &["spec", "cidrs"], json!(cidrs));
        grown
    })
}

fn verdict(current: &Object, cidrs: &[String]) -> Verdict {
    // The controller manager handles objects under deletion.
    if meta::is_deleting(current) {
        return Verdict::UpToDate;
    }
    let existing = object::get_list(current, &["spec", "cidrs"]).iter().filter_map(Value::as_str);
    if !existing.eq(cidrs.iter().map(String::as_str)) {
        return Verdict::Differs;
    }
    let mut conditions =
        tree::child(current, "status").into_iter().flat_map(|s| tree::children(s, "conditions"));
    let condition = conditions.find(|condition| tree::text(condition, "type") == "Ready");
    match condition.map_or("Unknown", |condition| tree::text(condition, "status")) {
        "False" => Verdict::NotReady,
        "Unknown" => Verdict::SetReady,
        _ => Verdict::UpToDate,
    }
}

/// Builds the apply configuration that sets `Ready`, with the current time.
fn ready(now: &str) -> Value {
    json!({
        "apiVersion": "networking.k8s.io/v1",
        "kind": "ServiceCIDR",
        "metadata": {"name": NAME},
        "status": {"conditions": [{
            "type": "Ready",
            "status": "True",
            "lastTransitionTime": now,
            "message": "Kubernetes default Service CIDR is ready",
        }]},
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cidr(cidrs: &[&str], ready: Option<&str>) -> Object {
        let conditions: Vec<Value> =
            ready.into_iter().map(|status| json!({"type": "Ready", "status": status})).collect();
        object(json!({
            "metadata": {"name": NAME},
            "spec": {"cidrs": cidrs},
            "status": {"conditions": conditions},
        }))
    }

    fn texts(cidrs: &[&str]) -> Vec<String> {
        cidrs.iter().map(|&cidr| cidr.to_owned()).collect()
    }

    const ONE: &[&str] = &["10.0.0.0/24"];
    const TWO: &[&str] = &["10.0.0.0/24", "fd00::/112"];
    const OTHER: &[&str] = &["10.1.0.0/24"];

    #[test]
    fn ranges_only_ever_grow_by_a_second_family() {
        let check = |current: Option<&[&str]>, flag: &[&str], expected: Option<&[&str]>| {
            let current = current.map(|current| cidr(current, None));
            let desired = desired_object(current.as_ref(), &texts(flag));
            let cidrs = desired.map(|desired| object::get(&desired, &["spec", "cidrs"]).cloned());
            assert_eq!(cidrs, expected.map(|expected| Some(json!(expected))), "{current:?} {flag:?}");
        };
        check(None, ONE, Some(ONE));
        check(None, TWO, Some(TWO));
        check(Some(ONE), ONE, None);
        check(Some(ONE), TWO, Some(TWO));
        check(Some(TWO), ONE, None);
        check(Some(OTHER), ONE, None);
        check(Some(OTHER), TWO, None);
        check(Some(&["fd00::/112"]), TWO, None);
    }

    #[test]
    fn missing_condition_is_set() {
        let check = |current: Object, flag: &[&str], expected: Verdict| {
            assert_eq!(verdict(&current, &texts(flag)), expected, "{current:?}");
        };
        check(cidr(ONE, None), ONE, Verdict::SetReady);
        check(cidr(ONE, Some("Unknown")), ONE, Verdict::SetReady);
        check(cidr(ONE, Some("True")), ONE, Verdict::UpToDate);
        check(cidr(ONE, Some("False")), ONE, Verdict::NotReady);
        check(cidr(ONE, Some("True")), OTHER, Verdict::Differs);
        check(cidr(ONE, None), TWO, Verdict::Differs);
        let mut deleting = cidr(ONE, None);
        meta::set_text(&mut deleting, "deletionTimestamp", "2026-01-01T00:00:00Z");
        check(deleting, ONE, Verdict::UpToDate);
    }
}
