//! The row of a pod. Its status column shows the most specific reason for the pod's state. A container's
//! reason takes precedence over the phase, an init container's over other containers', and deletion over
//! everything.

use crate::printers::column::{AGE, Column, NAME, RowCondition};
use crate::printers::format::{NONE, time};
use api::table::Cell;
use api::table::view::View;
use apimachinery::duration::human_duration;
use apimachinery::time::UnixTime;
use std::borrow::Cow;
use std::collections::HashMap;

const RESTARTS: &str = "The number of times the containers in this pod have been restarted and when the last container \
    in this pod has restarted.";

pub(super) static COLUMNS: &[Column] = &[
    NAME,
    Column::text_of_several("Ready", summary)
        .with_description("The aggregate readiness state of this pod for accepting traffic."),
    Column::text_of_previous("Status")
        .with_description("The aggregate status of the containers in this pod."),
    Column::text_of_previous("Restarts").with_description(RESTARTS),
    AGE,
    Column::text_of_several("IP", placement)
        .with_description_of("io.k8s.api.core.v1.PodStatus", "podIP")
        .wide(),
    Column::text_of_previous("Node").with_description_of("io.k8s.api.core.v1.PodSpec", "nodeName").wide(),
    Column::text_of_previous("Nominated Node")
        .with_description_of("io.k8s.api.core.v1.PodStatus", "nominatedNodeName")
        .wide(),
    Column::text_of_previous("Readiness Gates")
        .with_description_of("io.k8s.api.core.v1.PodSpec", "readinessGates")
        .wide(),
];

/// Ready, Status and Restarts come out of one walk over the containers.
fn summary<'a>(pod: View<'a>, now: UnixTime, cells: &mut Vec<Cell<'a>>) {
    let spec = pod.get("spec");
    let status = pod.get("status");
    let init_containers = spec.get("initContainers");
    let conditions = status.get("conditions");
    let total = spec.get("containers").len() + init_containers.items().filter(is_sidecar).count();
    let mut summary = Summary { reason: phase_or_reason(status, conditions).into(), ..Summary::default() };
    let initializing = summary.add_init_containers(init_containers, status);
    if !initializing || is_true(conditions, "Initialized") {
        summary.add_containers(status, conditions);
    }
    if pod.get_path("metadata.deletionTimestamp").exists() {
        if status.get("reason").text() == "NodeLost" {
            summary.reason = "Unknown".into();
        } else if !matches!(status.get("phase").text(), "Failed" | "Succeeded") {
            summary.reason = "Terminating".into();
        }
    }
    cells.extend([
        format!("{}/{total}", summary.ready).into(),
        summary.reason.into(),
        summary.restarts.text(now).into(),
    ]);
}

/// IP, Node, Nominated Node and Readiness Gates share the lookups of `spec` and `status`.
fn placement<'a>(pod: View<'a>, _: UnixTime, cells: &mut Vec<Cell<'a>>) {
    let spec = pod.get("spec");
    let status = pod.get("status");
    let first_ip = status.get("podIPs").items().next();
    cells.extend([
        first_ip.map_or(NONE, |ip| ip.get("ip").non_empty_or(NONE)).into(),
        spec.get("nodeName").non_empty_or(NONE).into(),
        status.get("nominatedNodeName").non_empty_or(NONE).into(),
        readiness_gates(spec.get("readinessGates"), status).into(),
    ]);
}

/// Restart count and time of the last restart.
#[derive(Clone, Copy, Default)]
struct Restarts {
    count: i64,
    last: Option<UnixTime>,
}

impl Restarts {
    fn add(&mut self, container: View<'_>) {
        self.count += container.get("restartCount").int();
        self.last = self.last.max(time(container.get_path("lastState.terminated.finishedAt")));
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

#[derive(Default)]
struct Summary<'a> {
    reason: Cow<'a, str>,
    ready: usize,
    restarts: Restarts,
    sidecar_restarts: Restarts,
}

impl<'a> Summary<'a> {
    /// Returns true if an init container has not finished.
    fn add_init_containers(&mut self, containers: View<'a>, status: View<'a>) -> bool {
        let statuses = status.get("initContainerStatuses");
        if !statuses.exists() {
            return false;
        }
        // If containers have the same name, the last one counts.
        let sidecars: HashMap<&str, bool> =
            containers.items().map(|c| (c.get("name").text(), is_sidecar(&c))).collect();
        for (index, container) in statuses.items().enumerate() {
            let sidecar = sidecars.get(container.get("name").text()).copied().unwrap_or(false);
            self.restarts.add(container);
            if sidecar {
                self.sidecar_restarts.add(container);
            }
            let state = container.get("state");
            let terminated = state.get("terminated");
            if terminated.exists() && terminated.get("exitCode").int() == 0 {
                continue;
            }
            if sidecar && container.get("started").flag() {
                self.ready += usize::from(container.get("ready").flag());
                continue;
            }
            let reason = match state.get_path("waiting.reason").text() {
                _ if terminated.exists() => format!("Init:{}", end(terminated)),
                "" | "PodInitializing" => format!("Init:{index}/{}", containers.len()),
                waiting => format!("Init:{waiting}"),
            };
            self.reason = reason.into();
            return true;
        }
        false
    }

    /// Iterates backwards, so that the first container's reason is kept. Restarts of init containers are not
    /// counted, except sidecars.
    fn add_containers(&mut self, status: View<'a>, conditions: View<'a>) {
        self.restarts = self.sidecar_restarts;
        let mut any_running = false;
        let mut error = None;
        for container in status.get("containerStatuses").items_backwards() {
            self.restarts.add(container);
            let state = container.get("state");
            let waiting = state.get_path("waiting.reason").text();
            let terminated = state.get("terminated");
            if !waiting.is_empty() {
                self.reason = waiting.into();
            } else if terminated.exists() {
                self.reason = end(terminated);
                if terminated.get("exitCode").int() != 0 {
                    error = Some(self.reason.clone());
                }
            } else if container.get("ready").flag() && state.get("running").exists() {
                any_running = true;
                self.ready += 1;
            }
        }
        if self.reason == "Completed" {
            // Some containers may have failed or still be running.
            self.reason = match error {
                _ if any_running && has_true_condition(conditions, "Ready") => "Running".into(),
                Some(error) => error,
                None if any_running => "NotReady".into(),
                None => return,
            };
        }
    }
}

/// Returns the reason of a terminated container.
fn end<'a>(terminated: View<'a>) -> Cow<'a, str> {
    match (terminated.get("reason").text(), terminated.get("signal").int()) {
        ("", 0) => format!("ExitCode:{}", terminated.get("exitCode").int()).into(),
        ("", signal) => format!("Signal:{signal}").into(),
        (reason, _) => reason.into(),
    }
}

fn phase_or_reason<'a>(status: View<'a>, conditions: View<'a>) -> &'a str {
    const GATED: &str = "SchedulingGated";
    let is_gated = |condition: View<'_>| {
        condition.get("type").text() == "PodScheduled" && condition.get("reason").text() == GATED
    };
    if conditions.items().any(is_gated) {
        return GATED;
    }
    status.get("reason").non_empty_or(status.get("phase").text())
}

/// True if an init container runs as long as the pod (KEP-753).
fn is_sidecar(container: &View<'_>) -> bool {
    container.get("restartPolicy").text() == "Always"
}

/// True if the first condition of the type is `True`.
fn is_true(conditions: View<'_>, condition_type: &str) -> bool {
    conditions.condition(condition_type).is_some_and(|c| c.get("status").text() == "True")
}

/// True if any condition of the type is `True`.
fn has_true_condition(conditions: View<'_>, condition_type: &str) -> bool {
    conditions.items().any(|condition| {
        condition.get("type").text() == condition_type && condition.get("status").text() == "True"
    })
}

fn readiness_gates(gates: View<'_>, status: View<'_>) -> Cow<'static, str> {
    if gates.is_empty() {
        return NONE.into();
    }
    // Iterates backwards, so that the first condition of each type counts.
    let conditions = status.get("conditions").items_backwards();
    let is_true: HashMap<&str, bool> =
        conditions.map(|c| (c.get("type").text(), c.get("status").text() == "True")).collect();
    let is_open = |gate: &View<'_>| is_true.get(gate.get("conditionType").text()).copied().unwrap_or(false);
    format!("{}/{}", gates.items().filter(is_open).count(), gates.len()).into()
}

/// Returns the row condition of a finished pod.
pub(super) fn end_of_pod(pod: View<'_>) -> Option<RowCondition> {
    let (reason, message) = match pod.get_path("status.phase").text() {
        "Succeeded" => ("Succeeded", "The pod has completed successfully."),
        "Failed" => ("Failed", "The pod failed."),
        _ => return None,
    };
    Some(RowCondition { condition_type: "Completed", status: "True", reason, message })
}
