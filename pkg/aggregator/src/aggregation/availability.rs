//! Availability checks of the servers behind APIServices (upstream's
//! `kube-aggregator/pkg/controllers/status`).

use std::sync::Arc;
use std::time::Duration;

use api::tree::{children_mut, text};
use apimachinery::go_quote::quote;
use apimachinery::status::Reason;
use apimachinery::time::UnixTime;
use apimachinery::user_info::{GROUP_MASTERS, UserInfo};
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use jsontree::{Value, json};
use registry::client::Client;
use registry::meta;
use schema::object::{self, Object};
use tokio::sync::Notify;
use tokio::time::timeout;

use super::metrics::AvailabilityMetrics;
use super::registered::ServerAddress;
use super::remote::Remote;
use crate::error::Error;
use crate::service_addresses::ResolvedService;

/// Timeout of a check.
const PROBE_MAX: Duration = Duration::from_secs(5);
/// Number of checks before a server counts as unavailable, because several servers may share an address.
const PROBES: usize = 5;
/// Interval of checks after a success, and the maximum interval after failures.
const PROBE_INTERVAL: Duration = Duration::from_secs(30);
/// First interval after a failure.
const RETRY_INTERVAL_MIN: Duration = Duration::from_millis(250);
/// Delay after a failed write.
const RETRY: Duration = Duration::from_secs(1);

/// Value of the `Available` condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Verdict {
    pub(super) available: bool,
    pub(super) reason: &'static str,
    pub(super) message: String,
}

impl Verdict {
    fn available() -> Self {
        Verdict { available: true, reason: "Passed", message: "all checks passed".to_owned() }
    }

    /// Returns the condition for a local APIService.
    pub(super) fn local() -> Self {
        let message = "Local APIServices are always available".to_owned();
        Verdict { available: true, reason: "Local", message }
    }

    fn failed(reason: &'static str, message: String) -> Self {
        Verdict { available: false, reason, message }
    }

    fn status(&self) -> &'static str {
        if self.available { "True" } else { "False" }
    }

    /// Returns the APIService with this condition; `None` if it is unchanged.
    pub(super) fn apply_condition(&self, current: &Object, now: UnixTime) -> Option<Object> {
        let mut new = current.clone();
        let now = UnixTime { nanos: 0, ..now }.rfc3339().to_string();
        if !has_conditions(&new) {
            object::set(&mut new, &["status", "conditions"], Vec::<Value>::new());
        }
        let status = api::tree::child_mut(&mut new, "status")?;
        let existing =
            children_mut(status, "conditions").find(|condition| text(condition, "type") == "Available");
        match existing {
            Some(condition) => {
                if text(condition, "status") != self.status() {
                    condition.insert("status", self.status().into());
                    condition.insert("lastTransitionTime", now.into());
                }
                condition.insert("reason", self.reason.into());
                condition.insert("message", self.message.clone().into());
            }
            None => {
                let condition = json!({
                    "type": "Available",
                    "status": self.status(),
                    "lastTransitionTime": now,
                    "reason": self.reason,
                    "message": self.message,
                });
                if let Some(Value::Array(conditions)) = status.get_mut("conditions") {
                    conditions.push(condition);
                }
            }
        }
        (new != *current).then_some(new)
    }
}

fn has_conditions(object: &Object) -> bool {
    let status = api::tree::child(object, "status");
    status.is_some_and(|status| matches!(status.get("conditions"), Some(Value::Array(_))))
}

/// Returns the problem of a Service that is visible without a check, if any.
fn problem_of_service(address: &ServerAddress, resolved: &ResolvedService) -> Option<Verdict> {
    let ServerAddress { namespace, name, port, .. } = address;
    let at = format!("service/{name} in {}", quote(namespace));
    let Some(service) = &resolved.service else {
        return Some(Verdict::failed("ServiceNotFound", format!("{at} is not present")));
    };
    if service.kind != "ClusterIP" {
        return None;
    }
    let Some((_, port_name)) = service.ports.iter().find(|(number, _)| number == port) else {
        return Some(Verdict::failed("ServicePortError", format!("{at} is not listening on port {port}")));
    };
    if resolved.slices.is_empty() {
        let message = format!("cannot find endpointslices for {at}");
        return Some(Verdict::failed("EndpointsNotFound", message));
    }
    let has_endpoint = resolved.slices.iter().any(|slice| {
        let ready = slice.endpoints.iter().any(|(_, ready)| ready.unwrap_or(true));
        let mut ports = slice.ports.iter();
        ready && ports.any(|(name, number)| name.as_ref() == Some(port_name) && number.is_some())
    });
    let message = || format!("endpointslices for {at} have no addresses with port name {}", quote(port_name));
    (!has_endpoint).then(|| Verdict::failed("MissingEndpoints", message()))
}

/// Maintains the condition of one APIService.
pub(super) struct Watcher {
    pub(super) remote: Arc<Remote>,
    /// Writes conditions.
    pub(super) status: Client,
    pub(super) metrics: Arc<AvailabilityMetrics>,
    /// Notified when the server becomes available again.
    pub(super) recovered: Arc<Notify>,
}

impl Watcher {
    /// Maintains the condition until dropped.
    pub(super) async fn run(self) {
        let mut pause = RETRY_INTERVAL_MIN;
        let mut was_available = false;
        loop {
            let resolved = self.remote.resolved_service();
            let verdict = match problem_of_service(&self.remote.address, &resolved) {
                Some(verdict) => verdict,
                None => self.check_server().await,
            };
            let written = self.write_condition(&verdict).await;
            if verdict.available && !was_available {
                self.recovered.notify_one();
            }
            was_available = verdict.available;
            let again = match (written, verdict.reason) {
                (false, _) => RETRY,
                (true, "FailedDiscoveryCheck") => pause,
                (true, _) => PROBE_INTERVAL,
            };
            pause = if verdict.available { RETRY_INTERVAL_MIN } else { (pause * 2).min(PROBE_INTERVAL) };
            // Ends after the timeout or when the Service changes.
            _ = timeout(again, self.remote.wait_for_change(&resolved)).await;
        }
    }

    /// Checks the server once. If that fails, runs several checks concurrently, and one success suffices.
    async fn check_server(&self) -> Verdict {
        let Err(first) = self.probe_server().await else { return Verdict::available() };
        let mut probes: FuturesUnordered<_> = (1..PROBES).map(|_| self.probe_server()).collect();
        let mut last = first;
        while let Some(outcome) = probes.next().await {
            match outcome {
                Ok(()) => return Verdict::available(),
                Err(error) => last = error,
            }
        }
        Verdict::failed("FailedDiscoveryCheck", last.to_string())
    }

    async fn probe_server(&self) -> Result<(), Error> {
        let address = self.remote.address()?;
        let url = address.uri(&self.remote.path())?;
        let user = UserInfo {
            name: "system:kube-aggregator".to_owned(),
            groups: vec![GROUP_MASTERS.to_owned()],
            ..UserInfo::default()
        };
        let probed = match self.remote.probe(&address, &user, PROBE_MAX).await {
            Ok(status) if status.is_success() => Ok(()),
            Ok(status) => Err(Error::Status { from: url.to_string(), status }),
            Err(error) => Err(error),
        };
        probed.map_err(|error| Error::Probe { url, source: Box::new(error) })
    }

    /// Writes a condition. Returns false if that failed.
    async fn write_condition(&self, verdict: &Verdict) -> bool {
        let service = &self.remote.service;
        self.metrics.set_available(&service.name, verdict.available);
        let lost = std::sync::atomic::AtomicBool::new(false);
        let now = self.status.now();
        let desired = |current: Option<&Object>| {
            let current = current.filter(|current| meta::text(current, "uid") == service.uid)?;
            let was = super::registered::ApiService::of(current).available;
            lost.store(was && !verdict.available, std::sync::atomic::Ordering::Relaxed);
            verdict.apply_condition(current, now)
        };
        match self.status.reconcile("", &service.name, &desired).await {
            Ok(reconciled) => {
                if reconciled.written && lost.into_inner() {
                    self.metrics.record_unavailable(&service.name, verdict.reason);
                }
                true
            }
            Err(status) if status.reason == Reason::NotFound => true,
            Err(status) => {
                tracing::warn!(name = service.name, error = status.message, "an APIService's status");
                false
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use client::services::{EndpointSlice, Service};

    use super::*;

    fn found(ports: &[(i32, &str)], slices: &[(&str, &[Option<bool>])]) -> ResolvedService {
        let ports = ports.iter().map(|(number, name)| (*number, (*name).to_owned())).collect();
        let service = Service { kind: "ClusterIP".to_owned(), ports, ..Service::default() };
        let slice = |(port, ready): &(&str, &[Option<bool>])| {
            Arc::new(EndpointSlice {
                ports: vec![(Some((*port).to_owned()), Some(8443))],
                endpoints: ready.iter().map(|ready| ("10.1.1.1".to_owned(), *ready)).collect(),
                ..EndpointSlice::default()
            })
        };
        ResolvedService { service: Some(Arc::new(service)), slices: slices.iter().map(slice).collect() }
    }

    #[test]
    fn service_problems_are_found_without_request() {
        let place = ServerAddress {
            namespace: "ns".to_owned(),
            name: "s".to_owned(),
            port: 443,
            ..ServerAddress::default()
        };
        let check = |resolved: ResolvedService, expected: Option<(&str, &str)>| {
            let verdict = problem_of_service(&place, &resolved);
            let actual = verdict.as_ref().map(|verdict| (verdict.reason, &*verdict.message));
            assert_eq!(actual, expected);
        };
        check(ResolvedService::default(), Some(("ServiceNotFound", "service/s in \"ns\" is not present")));
        let message = "service/s in \"ns\" is not listening on port 443";
        check(found(&[(80, "web")], &[]), Some(("ServicePortError", message)));
        let message = "cannot find endpointslices for service/s in \"ns\"";
        check(found(&[(443, "web")], &[]), Some(("EndpointsNotFound", message)));
        let message = "endpointslices for service/s in \"ns\" have no addresses with port name \"web\"";
        check(found(&[(443, "web")], &[("web", &[Some(false)])]), Some(("MissingEndpoints", message)));
        check(found(&[(443, "web")], &[("other", &[None])]), Some(("MissingEndpoints", message)));
        check(found(&[(443, "web")], &[("web", &[Some(false), None])]), None);
        let external = Service { kind: "ExternalName".to_owned(), ..Service::default() };
        check(ResolvedService { service: Some(Arc::new(external)), ..ResolvedService::default() }, None);
    }

    #[test]
    fn unchanged_condition_is_not_written() {
        let now = UnixTime::from_seconds(1_761_031_680);
        let service = Verdict::local().apply_condition(&Object::new(), now).unwrap();
        let later = UnixTime::from_seconds(now.seconds + 60);
        assert_eq!(Verdict::local().apply_condition(&service, later), None);
        let changed = Verdict::available().apply_condition(&service, later).unwrap();
        let condition = &changed["status"]["conditions"][0];
        assert_eq!(condition["reason"], "Passed");
        assert_eq!(condition["lastTransitionTime"], "2025-10-21T07:28:00Z", "it is true as before");
    }
}
