//! One step: a cluster of one size under load, with its SLO verdict.

#![allow(clippy::disallowed_methods, reason = "a command measures with the real clock")]

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::kind::{Class, Kind};
use super::traffic::Traffic;
use super::usage::{Usage, UsageSampler};
use super::window::Window;
use super::world::SimulatedCluster;
use crate::stats::Latency;

/// Time after a step to wait for responses; missing ones count as errors.
const RESPONSE_GRACE: Duration = Duration::from_secs(12);
/// Maximum share of failed requests, and of ended watches.
const MAX_ERRORS: f64 = 0.01;
/// Maximum p99 delay of the load generator; above that, it would measure itself.
const MAX_LAG_MS: f64 = 250.0;
/// Utilization from which cores count as saturated.
const FULL: f64 = 0.95;
/// CPU use by other processes on the server's cores that is worth reporting, in cores.
const NOTABLE: f64 = 0.1;
/// Interval of progress lines.
const PROGRESS: Duration = Duration::from_secs(5);

/// Result of a step.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Step {
    /// Nodes of the cluster.
    pub(crate) nodes: u64,
    pub(crate) pods: u64,
    /// Open watches.
    pub(crate) watches: u64,
    /// Seconds for creating the objects missing from the previous step.
    pub(crate) seed_seconds: f64,
    /// Requests per second.
    pub(crate) rate: f64,
    /// Measured events per second.
    pub(crate) event_rate: f64,
    /// Watch bytes per second.
    pub(crate) event_bytes_rate: f64,
    /// Results by SLO class.
    pub(crate) classes: Vec<ClassResult<Class>>,
    /// Results by request kind.
    pub(crate) kinds: Vec<ClassResult<Kind>>,
    /// Failed requests.
    pub(crate) errors: u64,
    /// Text of the first error.
    pub(crate) first_error: Option<String>,
    /// Watches that ended.
    pub(crate) watches_lost: u64,
    /// p99 delay of sending requests, in milliseconds.
    pub(crate) lag_ms: f64,
    /// CPU and memory.
    pub(crate) usage: Usage,
    /// SLO verdict.
    pub(crate) verdict: Verdict,
}

/// Results of one SLO class or one request kind.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct ClassResult<T> {
    pub(crate) of: T,
    /// Rate per second.
    pub(crate) rate: f64,
    /// Latency from the due time; absent without requests.
    pub(crate) latency_ms: Option<Latency>,
}

/// SLO verdict of a step.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "lowercase", tag = "outcome", content = "why")]
pub(crate) enum Verdict {
    /// All SLOs held.
    Passed,
    /// An SLO was violated; the text names it.
    Broken(String),
    /// Undecided: the load generator or the store was the bottleneck.
    Invalid(String),
}

/// Runs the load for the planned time, and measures the part after the warm-up.
pub(crate) async fn run(
    world: &Arc<SimulatedCluster>,
    name: &str,
    number: u64,
    watches: u64,
    seed_seconds: f64,
) -> Step {
    let plan = &world.plan;
    let now = Instant::now();
    let start = now + plan.settle();
    let end = start + plan.step();
    let window = Arc::new(Window::new(start, end));
    world.measure(&window);
    let traffic = Traffic::start(world, end, number);
    tokio::time::sleep_until(start.into()).await;
    let watch = UsageSampler::start(world.target.pid, world.target.store_pid);
    let progress = progress(name, world.nodes().len(), &window, start);
    let usage = tokio::select! {
        usage = watch.during(plan.step()) => usage,
        () = progress => Usage::default(),
    };
    let limit = end + RESPONSE_GRACE;
    traffic.finish(limit).await;
    window.close(end.elapsed().max(Duration::from_millis(1)));
    summarize(world, &window, watches, seed_seconds, usage)
}

/// Prints a progress line periodically. Never ends.
async fn progress(name: &str, nodes: usize, window: &Window, start: Instant) {
    loop {
        tokio::time::sleep(PROGRESS).await;
        let p99 = |class| window.class(class).latency().map_or(0.0, |latency| latency.p99);
        eprintln!(
            "  {name}, {nodes} nodes, {:>3.0} s: {} under way, p99 so far: writes {:.0} ms, reads {:.0} ms, lists {:.0} ms, events {:.0} ms",
            start.elapsed().as_secs_f64(),
            window.pending(),
            p99(Class::Write),
            p99(Class::Read),
            p99(Class::List),
            p99(Class::Event),
        );
    }
}

fn summarize(
    world: &SimulatedCluster,
    window: &Window,
    watches: u64,
    seed_seconds: f64,
    usage: Usage,
) -> Step {
    let seconds = world.plan.step().as_secs_f64();
    let per_second = |count: u64| count as f64 / seconds;
    let classes = Class::ALL.map(|of| {
        let histogram = window.class(of);
        ClassResult { of, rate: per_second(histogram.count()), latency_ms: histogram.latency() }
    });
    let kinds = Kind::ALL.map(|of| {
        let latency = &window.of(of).latency;
        ClassResult { of, rate: per_second(latency.count()), latency_ms: latency.latency() }
    });
    let nodes = world.nodes().len() as u64;
    let mut step = Step {
        nodes,
        pods: nodes * world.plan.pods_per_node,
        watches,
        seed_seconds,
        rate: kinds.iter().map(|kind| kind.rate).sum(),
        event_rate: per_second(window.class(Class::Event).count()),
        event_bytes_rate: per_second(window.event_bytes.load(Relaxed)),
        classes: classes.into(),
        kinds: kinds.into(),
        errors: Kind::ALL.iter().map(|kind| window.of(*kind).errors.load(Relaxed)).sum(),
        first_error: window.first_error(),
        watches_lost: window.watches_lost.load(Relaxed),
        lag_ms: window.lag.latency().map_or(0.0, |latency| latency.p99),
        usage,
        verdict: Verdict::Passed,
    };
    step.verdict = determine_verdict(&step, seconds);
    step
}

/// Determines the verdict. A violated SLO is attributed to the server, unless another component was saturated
/// and the server was not.
fn determine_verdict(step: &Step, seconds: f64) -> Verdict {
    let mut why = Vec::new();
    for class in &step.classes {
        let limit = class.of.limit().as_secs_f64() * 1e3;
        if let Some(latency) = class.latency_ms.filter(|latency| latency.p99 > limit) {
            why.push(format!("p99 of {} {:.1} s", class.of.name(), latency.p99 / 1e3));
        }
    }
    let requests = (step.rate * seconds).max(1.0);
    if step.errors as f64 > requests * MAX_ERRORS {
        why.push(format!("{} of {requests:.0} requests failed", step.errors));
    }
    if step.watches_lost as f64 > step.watches as f64 * MAX_ERRORS {
        why.push(format!("{} of {} watches ended", step.watches_lost, step.watches));
    }
    if why.is_empty() {
        return Verdict::Passed;
    }
    let usage = &step.usage;
    let mut why = why.join(", ");
    let cores = usage.server_cores.unwrap_or(0.0) * FULL;
    let server_full = usage.server_cpu.is_some_and(|cpu| cpu >= cores);
    if step.lag_ms > MAX_LAG_MS {
        return Verdict::Invalid(format!("{why}; requests were sent {:.0} ms late (p99)", step.lag_ms));
    }
    if !server_full && usage.client_share() >= FULL {
        return Verdict::Invalid(format!(
            "{why}; the load generator and the store had nothing left, the server had"
        ));
    }
    if let Some(other_cpu) = usage.others_cpu.filter(|other_cpu| !server_full && *other_cpu > NOTABLE) {
        why.push_str(&format!("; others used {:.0} % of the server's cores", other_cpu * 100.0));
    }
    Verdict::Broken(why)
}

impl Step {
    /// Returns the p99 of an SLO class in milliseconds.
    pub(crate) fn p99(&self, class: Class) -> Option<f64> {
        let class_metrics = self.classes.iter().find(|metrics| metrics.of == class);
        class_metrics?.latency_ms.map(|latency| latency.p99)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn step(nodes: u64, write_p99: f64) -> Step {
        let latency = |p99| Some(Latency { p50: p99 / 4.0, p90: p99 / 2.0, p99, p999: p99, max: p99 });
        let classes = Class::ALL.map(|of| ClassResult { of, rate: 100.0, latency_ms: latency(5.0) });
        let kinds = Kind::ALL.map(|of| ClassResult { of, rate: 10.0, latency_ms: latency(write_p99) });
        let usage = Usage {
            server_cores: Some(1.0),
            server_cpu: Some(0.97),
            server_mib: Some(300.0),
            client_cores: 1.0,
            client_cpu: 0.3,
            ..Usage::default()
        };
        let mut step = Step {
            nodes,
            pods: nodes * 10,
            watches: nodes * 7,
            seed_seconds: 1.0,
            rate: 170.0,
            event_rate: 100.0,
            event_bytes_rate: 1e5,
            classes: classes.into(),
            kinds: kinds.into(),
            errors: 0,
            first_error: None,
            watches_lost: 0,
            lag_ms: 2.0,
            usage,
            verdict: Verdict::Passed,
        };
        if let Some(writes) = step.classes.first_mut() {
            writes.latency_ms = latency(write_p99);
        }
        step.verdict = determine_verdict(&step, 30.0);
        step
    }

    #[test]
    fn slo_violation_breaks_the_step() {
        assert_eq!(step(100, 999.0).verdict, Verdict::Passed);
        assert_eq!(step(100, 1500.0).verdict, Verdict::Broken("p99 of writes 1.5 s".to_owned()));
    }

    #[test]
    fn late_generator_invalidates_only_broken_steps() {
        let late = |write_p99| determine_verdict(&Step { lag_ms: 400.0, ..step(100, write_p99) }, 30.0);
        assert!(matches!(late(1500.0), Verdict::Invalid(_)));
        assert_eq!(late(500.0), Verdict::Passed);
    }

    #[test]
    fn saturated_store_invalidates_the_step() {
        let mut full = step(100, 1500.0);
        full.usage.client_cpu = 0.97;
        assert!(matches!(determine_verdict(&full, 30.0), Verdict::Broken(_)));
        full.usage.server_cpu = Some(0.5);
        assert!(matches!(determine_verdict(&full, 30.0), Verdict::Invalid(_)));
    }

    #[test]
    fn more_than_one_percent_errors_break() {
        let failed = |errors| determine_verdict(&Step { errors, ..step(100, 5.0) }, 30.0);
        assert_eq!(failed(51), Verdict::Passed);
        assert_eq!(failed(52), Verdict::Broken("52 of 5100 requests failed".to_owned()));
    }
}
