//! The row of a pod. Its status column is the best word for where the pod is
//! stuck: the reason of a container goes before the phase, init containers
//! before others, deletion before all.

use super::format::{NONE, age, time};
use super::view::View;
use apimachinery::duration::human_duration;
use apimachinery::time::UnixTime;
use serde_json::Value;

pub(super) fn pod(pod: View<'_>, now: UnixTime) -> Vec<Value> {
    let (spec, status) = (pod.get("spec"), pod.get("status"));
    let total = spec.get("containers").len() + sidecars(spec).count();
    let mut summary = Summary { reason: phase_or_reason(status), ..Summary::default() };
    let initializing = summary.add_init_containers(spec, status);
    if !initializing || is_true(status, "Initialized") {
        summary.add_containers(status);
    }
    if pod.at("metadata.deletionTimestamp").exists() {
        if status.get("reason").text() == "NodeLost" {
            summary.reason = "Unknown".to_owned();
        } else if !matches!(status.get("phase").text(), "Failed" | "Succeeded") {
            summary.reason = "Terminating".to_owned();
        }
    }
    let pod_ip = status.get("podIPs").items().next().map_or("", |ip| ip.get("ip").text());
    vec![
        pod.name(),
        format!("{}/{total}", summary.ready).into(),
        summary.reason.into(),
        summary.restarts.text(now).into(),
        age(pod, now),
        if pod_ip.is_empty() { NONE } else { pod_ip }.into(),
        spec.get("nodeName").filled_or(NONE).into(),
        status.get("nominatedNodeName").filled_or(NONE).into(),
        readiness_gates(spec, status).into(),
    ]
}

/// Restarts, and when the last one was.
#[derive(Clone, Copy, Default)]
struct Restarts {
    count: i64,
    last: Option<UnixTime>,
}

impl Restarts {
    fn add(&mut self, container: View<'_>) {
        self.count += container.get("restartCount").int();
        self.last = self.last.max(time(container.at("lastState.terminated.finishedAt")));
    }

    fn text(self, now: UnixTime) -> String {
        match self.last {
            Some(last) if self.count != 0 => {
                format!("{} ({} ago)", self.count, human_duration(now.nanos_since(last)))
            }
            _ => self.count.to_string(),
        }
    }
}

/// What the statuses of the containers add up to.
#[derive(Default)]
struct Summary {
    reason: String,
    ready: usize,
    restarts: Restarts,
    sidecar_restarts: Restarts,
}

impl Summary {
    /// True if an init container has still to finish.
    fn add_init_containers(&mut self, spec: View<'_>, status: View<'_>) -> bool {
        let total = spec.get("initContainers").len();
        for (index, container) in status.get("initContainerStatuses").items().enumerate() {
            let name = container.get("name").text();
            let sidecar = is_sidecar(spec, name);
            self.restarts.add(container);
            if sidecar {
                self.sidecar_restarts.add(container);
            }
            let terminated = container.at("state.terminated");
            if terminated.exists() && terminated.get("exitCode").int() == 0 {
                continue;
            }
            if sidecar && container.get("started").flag() {
                self.ready += usize::from(container.get("ready").flag());
                continue;
            }
            self.reason = match container.at("state.waiting.reason").text() {
                _ if terminated.exists() => format!("Init:{}", end(terminated)),
                "" | "PodInitializing" => format!("Init:{index}/{total}"),
                waiting => format!("Init:{waiting}"),
            };
            return true;
        }
        false
    }

    /// From the last container to the first, so that the first one's reason
    /// stays. Restarts of init containers no longer count, save of sidecars.
    fn add_containers(&mut self, status: View<'_>) {
        self.restarts = self.sidecar_restarts;
        let (mut any_running, mut error) = (false, None);
        for container in status.get("containerStatuses").items().rev() {
            self.restarts.add(container);
            let waiting = container.at("state.waiting.reason").text();
            let terminated = container.at("state.terminated");
            if !waiting.is_empty() {
                self.reason = waiting.to_owned();
            } else if terminated.exists() {
                self.reason = end(terminated);
                if terminated.get("exitCode").int() != 0 {
                    error = Some(self.reason.clone());
                }
            } else if container.get("ready").flag() && container.at("state.running").exists() {
                any_running = true;
                self.ready += 1;
            }
        }
        if self.reason == "Completed" {
            // Not all containers need have ended well, or ended at all.
            self.reason = match error {
                _ if any_running && has_true_condition(status, "Ready") => "Running".to_owned(),
                Some(error) => error,
                None if any_running => "NotReady".to_owned(),
                None => return,
            };
        }
    }
}

/// The word for how a container ended.
fn end(terminated: View<'_>) -> String {
    match (terminated.get("reason").text(), terminated.get("signal").int()) {
        ("", 0) => format!("ExitCode:{}", terminated.get("exitCode").int()),
        ("", signal) => format!("Signal:{signal}"),
        (reason, _) => reason.to_owned(),
    }
}

fn phase_or_reason(status: View<'_>) -> String {
    const GATED: &str = "SchedulingGated";
    let is_gated = |condition: View<'_>| {
        condition.get("type").text() == "PodScheduled" && condition.get("reason").text() == GATED
    };
    if status.get("conditions").items().any(is_gated) {
        return GATED.to_owned();
    }
    status.get("reason").filled_or(status.get("phase").text()).to_owned()
}

/// Init containers that run as long as the pod (KEP-753).
fn sidecars(spec: View<'_>) -> impl Iterator<Item = View<'_>> {
    spec.get("initContainers").items().filter(|c| c.get("restartPolicy").text() == "Always")
}

/// Of several containers with the name, the last one counts.
fn is_sidecar(spec: View<'_>, name: &str) -> bool {
    let container = spec.get("initContainers").items().rev().find(|c| c.get("name").text() == name);
    container.is_some_and(|c| c.get("restartPolicy").text() == "Always")
}

/// The first condition of the type decides.
fn is_true(status: View<'_>, condition_type: &str) -> bool {
    let condition = status.get("conditions").condition(condition_type);
    condition.is_some_and(|c| c.get("status").text() == "True")
}

/// Any condition of the type will do.
fn has_true_condition(status: View<'_>, condition_type: &str) -> bool {
    status.get("conditions").items().any(|condition| {
        condition.get("type").text() == condition_type && condition.get("status").text() == "True"
    })
}

fn readiness_gates(spec: View<'_>, status: View<'_>) -> String {
    let gates = spec.get("readinessGates");
    if gates.len() == 0 {
        return NONE.to_owned();
    }
    let open = gates.items().filter(|gate| is_true(status, gate.get("conditionType").text())).count();
    format!("{open}/{}", gates.len())
}
